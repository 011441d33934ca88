#include "balancing/orchestra/pace.h"

#include <gtest/gtest.h>

namespace steelyard::balancing::orchestra::hill_climb_test {
namespace {

const BarrierView view{{{1, 0}}, 0, 0};

TEST(HillClimb, ContinuesStaysAndReverses) {
  HillClimb climb;
  EXPECT_EQ(climb.decide(view, 0), 1) << "nothing is known, so it takes a first step";
  EXPECT_EQ(climb.decide(view, 1), 1);
  EXPECT_EQ(climb.decide(view, -1), -1);
  EXPECT_EQ(climb.decide(view, 0), -1) << "back at the best; the other side is unknown";
  EXPECT_EQ(climb.decide(view, 1), -1);
  EXPECT_EQ(climb.decide(view, 0), 0) << "as good as the best";
  EXPECT_EQ(climb.decide(view, -1), 1) << "no longer as good";
  EXPECT_EQ(climb.decide(view, -1), -1);
  EXPECT_EQ(climb.decide(view, 0), 0) << "both sides are known";
}

// A hill with its top at 2 longest mini-batches, approached from either side. Near the top it is practically
// flat: a step of one unit gains less than a thousandth.
TEST(HillClimb, ReachesTheTop) {
  for (const double start : {1.0, 3.0}) {
    HillClimb climb;
    BarrierReward reward;
    BarrierPeriod period(start);
    for (int epoch = 0; epoch < 150; ++epoch) {
      const double from_top = period.longest_batches() - 2;
      period.move(climb.decide(view, reward(1 / (1 + from_top * from_top), 1, 1)));
    }
    EXPECT_NEAR(period.longest_batches(), 2, 0.06);
  }
}

TEST(HillClimb, RestoredControllersDecideIdentically) {
  HillClimb climb, restored;
  climb.decide(view, 0), climb.decide(view, -1);
  StateWriter writer("t");
  writer(climb);
  StateReader reader(writer.str(), "t");
  reader(restored);
  for (const int reward : {1, 0, -1, -1, 1, 0}) {
    EXPECT_EQ(restored.decide(view, reward), climb.decide(view, reward));
  }
}

}  // namespace
}  // namespace steelyard::balancing::orchestra::hill_climb_test
