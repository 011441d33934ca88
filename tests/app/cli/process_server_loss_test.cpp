// Servers are killed while real processes train: mirrors take over, and the model does not change.
#include <gmock/gmock.h>

#include <csignal>

#include "tests/support/process_run.h"

namespace steelyard::process_server_loss_test {
namespace {

using testing::HasSubstr;

class ProcessServerLoss : public ProcessTest {
 protected:
  static std::size_t times(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
    return count;
  }
  // Whether both shards have got a filled mirror `times_before` + 1 times.
  [[nodiscard]] static bool mirrored(const Process& run, std::size_t times_before) {
    return times(run.output(), " mirrors 'server-") >= 2 * (times_before + 1);
  }
};

TEST_F(ProcessServerLoss, RepeatedServerLossesDoNotChangeTheModel) {
  const std::vector<std::string> settings{"train.epochs=100", "cluster.sum_order=ordered",
                                          "cluster.policy=equal", "cluster.replicas=1"};
  ASSERT_EQ(run(train("quiet", settings)), 0) << said_;
  Process killed(path("killed.log"), train("killed", settings));
  const std::vector<std::string> victims{"server-0", "server-1", "server-0"};
  for (std::size_t i = 0; i < victims.size(); ++i) {
    ASSERT_TRUE(eventually([&] { return mirrored(killed, i); })) << killed.output();
    kill(killed.living_with("--name " + victims[i]), SIGKILL);
  }
  ends_clean(killed, 0);
  EXPECT_THAT(killed.output(), HasSubstr("is in its place"));
  EXPECT_THAT(newest_checkpoint("killed").parameters,
              testing::Pointwise(testing::FloatNear(1e-4F), newest_checkpoint("quiet").parameters));
}

TEST_F(ProcessServerLoss, TheJobSurvivesServerAndSchedulerLossesInTurn) {
  Process killed(path("killed.log"), train("killed", {"train.epochs=100", "cluster.replicas=1"}));
  for (const std::size_t turn : {0U, 1U}) {
    ASSERT_TRUE(eventually([&] { return mirrored(killed, turn); })) << killed.output();
    kill(killed.living_with("--name server-1"), SIGKILL);
    ASSERT_TRUE(restart_scheduler(killed));
  }
  ends_clean(killed, 0);
}

// A server exits on request, and its mirror takes over.
TEST_F(ProcessServerLoss, AMirrorReplacesAServerThatLeaves) {
  Process all(path("all.log"), train("run", {"train.epochs=100", "cluster.replicas=1"}));
  ASSERT_TRUE(eventually([&] { return mirrored(all, 0); })) << all.output();
  // Before the training has begun, a server that leaves ends the job.
  ASSERT_TRUE(eventually([&] { return !text_of(path("run/rounds.jsonl")).empty(); })) << all.output();
  kill(all.living_with("--name server-0"), SIGTERM);
  ends_clean(all, 0);
  EXPECT_THAT(all.output(), HasSubstr("is in its place"));
}

}  // namespace
}  // namespace steelyard::process_server_loss_test
