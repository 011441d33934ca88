#include "worker/pull_rule.h"

#include <gtest/gtest.h>

namespace steelyard::pull_timeout_test {
namespace {

Time at(double s) { return Time{} + from_seconds(s); }

TEST(PullTimeout, IsASecondAndDoublesUpToALimit) {
  PullTimeout timeout;
  timeout.asked(at(0));
  double now = 0;
  for (const double wait : {1, 2, 4, 8, 16, 32, 64, 64}) {
    EXPECT_FALSE(timeout.over(at(now + wait)));
    EXPECT_TRUE(timeout.over(at(now + wait + 0.1)));
    timeout.asked_again(at(now += wait));
  }
  timeout.came(at(now));
  EXPECT_FALSE(timeout.over(at(now + 1))) << "each slice that arrives restarts it";
}

TEST(PullTimeout, LearnsTheTimeOfPullsAndForgetsSlowly) {
  PullTimeout timeout;
  timeout.asked(at(0));
  timeout.came(at(99));
  timeout.can_come(at(100));
  timeout.came(at(110));
  EXPECT_FALSE(timeout.over(at(130))) << "twice the time of a part";
  timeout.came(at(120));
  timeout.whole(at(120));
  timeout.asked(at(200));
  EXPECT_FALSE(timeout.over(at(240))) << "the pull took 20 s after it could be answered";
  EXPECT_TRUE(timeout.over(at(241)));
  timeout.whole(at(201));
  timeout.asked(at(300));
  EXPECT_FALSE(timeout.over(at(330)));
  EXPECT_TRUE(timeout.over(at(331)));
}

}  // namespace
}  // namespace steelyard::pull_timeout_test
