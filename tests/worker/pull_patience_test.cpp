#include "worker/pull_patience.h"

#include <gtest/gtest.h>

namespace steelyard {
namespace {

Time at(double s) { return Time{} + from_seconds(s); }

TEST(PullPatience, IsASecondAndDoublesUpToALimit) {
  PullPatience patience;
  patience.asked(at(0));
  double now = 0;
  for (const double wait : {1, 2, 4, 8, 16, 32, 64, 64}) {
    EXPECT_FALSE(patience.over(at(now + wait)));
    EXPECT_TRUE(patience.over(at(now + wait + 0.1)));
    patience.asked_again(at(now += wait));
  }
  patience.came(at(now));
  EXPECT_FALSE(patience.over(at(now + 1))) << "whatever comes begins it anew";
}

TEST(PullPatience, LearnsWhatAPullTakesAndForgetsSlowly) {
  PullPatience patience;
  patience.asked(at(0));
  patience.came(at(99));
  patience.can_come(at(100));
  patience.came(at(110));
  EXPECT_FALSE(patience.over(at(130))) << "as long as a part took, twice";
  patience.came(at(120));
  patience.whole(at(120));
  patience.asked(at(200));
  EXPECT_FALSE(patience.over(at(240))) << "it took 20 s from when it could come";
  EXPECT_TRUE(patience.over(at(241)));
  patience.whole(at(201));
  patience.asked(at(300));
  EXPECT_FALSE(patience.over(at(330)));
  EXPECT_TRUE(patience.over(at(331)));
}

}  // namespace
}  // namespace steelyard
