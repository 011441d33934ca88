#include "scheduler/members/liveness.h"

#include <gtest/gtest.h>

#include "tests/scheduler/transcript_script.h"

namespace steelyard::reconnect_grace_test {
namespace {

constexpr NodeId ann{Role::worker, 1}, bob{Role::worker, 2};
Time at(double s) { return Time{from_seconds(s)}; }

TEST(ReconnectGrace, JudgesWhenItIsOver) {
  ReconnectGrace grace;
  EXPECT_FALSE(grace.defers(at(1), ann)) << "nobody was restarted";
  grace.begin(at(2));
  EXPECT_TRUE(grace.defers(at(2.1), ann));
  EXPECT_TRUE(grace.defers(at(2.1), bob));
  grace.heard(ann);
  EXPECT_TRUE(grace.gone(at(2.9)).empty());
  EXPECT_FALSE(grace.defers(at(3), ann));
  EXPECT_EQ(grace.gone(at(3)), std::vector<NodeId>{bob});
  EXPECT_TRUE(grace.gone(at(3)).empty()) << "twice";
}

bool is_there(const test::Script& script) { return script.scheduler().members().workers.at(0).present; }

void begin_and_kill(test::Script& script) {
  for (const char* line :
       {"job workers=1", "s1: Hello left", "w1: Hello ann", "w1: Ready", "killed", "lost w1"})
    script.say(line);
}

TEST(ReconnectGrace, WhoIsHeardAgainWasNeverLost) {
  test::Script script;
  begin_and_kill(script);
  EXPECT_TRUE(is_there(script));
  script.say("w1: Beat none=1");
  script.say("wait 3");
  EXPECT_TRUE(is_there(script));
  script.say("lost w1");
  EXPECT_FALSE(is_there(script)) << "as ever";
}

TEST(ReconnectGrace, WhoIsNotIsLostSoonAfter) {
  test::Script script;
  begin_and_kill(script);
  script.say("wait 3");
  EXPECT_FALSE(is_there(script));
}

}  // namespace
}  // namespace steelyard::reconnect_grace_test
