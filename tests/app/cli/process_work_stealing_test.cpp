// `steelyard train` under flexrr with a worker that is slow in bursts: the other takes over the tails of its
// pieces, and every position counts once.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/process_run.h"

namespace steelyard::process_work_stealing_test {
namespace {

class ProcessWorkStealing : public ProcessTest {
 protected:
  // Equal shares of 32 micro-batches each; bob's take up to 40 times as long.
  int train_under(const std::string& sync, const std::string& slow) {
    return run(train(sync, {"train.batch=2048", "train.epochs=8", "cluster.policy=equal",
                            "cluster.sync=" + sync, "worker.bob.simulate_slowdown=" + slow}));
  }
};

TEST_F(ProcessWorkStealing, TheFasterWorkerTakesOverAndPositionsCountOnce) {
  ASSERT_EQ(train_under("bsp", "1"), 0);
  ASSERT_EQ(train_under("flexrr", "40, 1@0.2, again@0.4"), 0);
  std::istringstream rounds(text_of(path("flexrr/rounds.jsonl")));
  std::uint64_t most = 0, next = 0;
  for (std::string line; std::getline(rounds, line);) {
    const auto round = nlohmann::json::parse(line);
    if (round["purpose"] != "train") continue;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < round["shares"].size(); ++i) {
      const auto share = round["shares"][i].get<std::uint64_t>();
      sum += share;
      if (round["workers"][i] == "ada") most = std::max(most, share);
    }
    const auto begin = round["begin"].get<std::uint64_t>(), end = round["end"].get<std::uint64_t>();
    EXPECT_EQ(begin % 8192, next % 8192);
    EXPECT_LE(sum, end - begin);  // positions closed without a report belong to no share
    next = end;
  }
  EXPECT_GT(most, 1024U) << "nothing was handed over";
  // A missing or repeated position would show here: each moves some weight by a thousandth.
  const Snapshot plain = newest_checkpoint("bsp"), handed = newest_checkpoint("flexrr");
  ASSERT_EQ(plain.parameters.size(), handed.parameters.size());
  for (std::size_t i = 0; i < plain.parameters.size(); ++i)
    ASSERT_NEAR(handed.parameters[i], plain.parameters[i], 1e-4 * (1 + std::abs(plain.parameters[i])));
}

}  // namespace
}  // namespace steelyard::process_work_stealing_test
