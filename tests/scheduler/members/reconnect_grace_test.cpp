#include "scheduler/members/liveness.h"

#include <gtest/gtest.h>

#include "tests/scheduler/transcript_script.h"

namespace steelyard::reconnect_grace_test {
namespace {

constexpr NodeId ann{Role::worker, 1}, bob{Role::worker, 2};
Time at(double s) { return Time{from_seconds(s)}; }

TEST(ReconnectGrace, AbsentNodesAreGoneWhenItEnds) {
  ReconnectGrace grace;
  EXPECT_FALSE(grace.defers(at(1), ann)) << "the scheduler was not restarted";
  grace.begin(at(2));
  EXPECT_TRUE(grace.defers(at(2.1), ann));
  EXPECT_TRUE(grace.defers(at(2.1), bob));
  grace.heard(ann);
  EXPECT_TRUE(grace.gone(at(2.9)).empty());
  EXPECT_FALSE(grace.defers(at(3), ann));
  EXPECT_EQ(grace.gone(at(3)), std::vector<NodeId>{bob});
  EXPECT_TRUE(grace.gone(at(3)).empty()) << "each node is returned once";
}

bool is_there(const test::Script& script) { return script.scheduler().members().workers.at(0).present; }

void begin_and_kill(test::Script& script) {
  for (const char* line :
       {"job workers=1", "s1: Hello left", "w1: Hello ann", "w1: Ready", "killed", "lost w1"})
    script.run(line);
}

TEST(ReconnectGrace, AWorkerThatReconnectsWasNeverLost) {
  test::Script script;
  begin_and_kill(script);
  EXPECT_TRUE(is_there(script));
  script.run("w1: Beat none=1");
  script.run("wait 3");
  EXPECT_TRUE(is_there(script));
  script.run("lost w1");
  EXPECT_FALSE(is_there(script)) << "a later disconnect counts at once";
}

TEST(ReconnectGrace, AWorkerThatDoesNotReconnectIsLost) {
  test::Script script;
  begin_and_kill(script);
  script.run("wait 3");
  EXPECT_FALSE(is_there(script));
}

}  // namespace
}  // namespace steelyard::reconnect_grace_test
