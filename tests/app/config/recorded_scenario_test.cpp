#include "app/config/device_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/config/scenario_file.h"
#include "core/error.h"
#include "sim/simulation.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::replay_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class ReplayTest : public testing::Test {
 protected:
  // A run of two workers: 10 + b ms and 10 + 2 b ms for b samples, and 5 ms of exchange. The second joins in
  // round 2.
  ReplayTest() {
    folder_.write("job.toml",
                  "[train]\nbatch = 90\nrounds = 8\n[cluster]\npolicy = \"equal\"\n[[worker]]\nname = \"a\"\n"
                  "max_batch = 80\n[[worker]]\nname = \"b\"\n");
    std::string rounds = line({"a"}, {90}, 0) + line({"a"}, {90}, 90);
    for (int k = 2; k < 8; ++k) rounds += line({"a", "b"}, k % 2 == 0 ? pair(45, 45) : pair(60, 30), k * 90);
    folder_.write("rounds.jsonl", rounds);
  }
  static std::vector<double> pair(double a, double b) { return {a, b}; }
  static std::string line(const std::vector<std::string>& workers, const std::vector<double>& shares,
                          std::uint64_t begin) {
    std::vector<double> ms;
    for (std::size_t i = 0; i < shares.size(); ++i) ms.push_back(10 + static_cast<double>(i + 1) * shares[i]);
    return nlohmann::json{{"purpose", "train"},
                          {"workers", workers},
                          {"shares", shares},
                          {"compute_ms", ms},
                          {"begin", begin},
                          {"end", begin + 90},
                          {"round_ms", std::ranges::max(ms) + 5}}
               .dump() +
           "\n";
  }
  [[nodiscard]] std::string run() const { return folder_.path().string(); }
  [[nodiscard]] std::string trouble(const std::vector<std::string>& without = {}) const {
    try {
      (void)replay_of(run(), without);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  }

  const TemporaryFolder folder_;
};

TEST_F(ReplayTest, HasTheClusterAndTheJobOfTheRun) {
  const Replay replay = replay_of(run());
  EXPECT_EQ(replay.rounds, 8U);
  EXPECT_EQ(replay.policy, "equal");
  EXPECT_NEAR(replay.seconds, (2 * 105 + 3 * (100 + 5) + 3 * (70 + 5)) / 1000.0, 1e-9);
  const sim::Scenario it = parse_scenario(replay.scenario, "replay.toml");
  EXPECT_EQ(it.global_batch, 90U);
  EXPECT_EQ(it.samples_per_epoch, 720U);
  EXPECT_EQ(it.rounds, 8U);
  EXPECT_NEAR(it.network.step_ms, 5, 1e-9);
  ASSERT_EQ(it.workers.size(), 2U);
  EXPECT_EQ(it.workers[0].max_batch, 80U);
  EXPECT_NEAR(it.workers[1].own_ms(20), 50, 1e-6);
  ASSERT_EQ(it.events.size(), 1U);
  EXPECT_TRUE(it.events[0].join);
  EXPECT_EQ(it.events[0].from, 2U);
}

TEST_F(ReplayTest, PredictsOtherPoliciesAndWorkers) {
  sim::Scenario it = parse_scenario(replay_of(run()).scenario, "replay.toml");
  it.policy = "oracle";
  const auto rounds = sim::simulate(it).rounds;
  ASSERT_EQ(rounds.size(), 8U);
  EXPECT_EQ(rounds[5].shares, (std::vector<std::uint64_t>{60, 30}));
  EXPECT_NEAR(rounds[5].round_ms, 75, 1e-6);
  const sim::Scenario without = parse_scenario(replay_of(run(), {"b"}).scenario, "replay.toml");
  ASSERT_EQ(without.workers.size(), 1U);
  EXPECT_THAT(without.events, testing::IsEmpty());
}

TEST_F(ReplayTest, UnsupportedRunsAreRefusedWithARemedy) {
  EXPECT_THAT(trouble({"c"}), AllOf(HasSubstr("has no such worker"), HasSubstr("(valid: a, b)")));
  EXPECT_THAT(trouble({"a", "b"}), HasSubstr("no worker of " + run() + " is left"));
  folder_.write("job.toml", "[train]\nrounds = 8\n[cluster]\nsync = \"local:4\"\n[[worker]]\n");
  EXPECT_THAT(trouble(), AllOf(HasSubstr("local:4"), HasSubstr("under bsp, ssp or asp")));
  fs::remove(folder_.path() / "job.toml");
  EXPECT_THAT(trouble(), HasSubstr("give the directory of a run"));
}

}  // namespace
}  // namespace steelyard::replay_test
