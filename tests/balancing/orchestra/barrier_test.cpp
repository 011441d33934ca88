#include "balancing/orchestra/barrier.h"

#include <gmock/gmock.h>

namespace steelyard::balancing::orchestra::barrier_test {
namespace {

// Orchestra, section 3.1.3, computed by hand: p = 0.1 / 10 sqrt(100) = 0.1 sets p*; then 0.1 / 10
// sqrt(400) = 0.2 is better, and 0.05 / 10 sqrt(400) = 0.1 is half of that.
// p* loses a tenth at each gain.
TEST(BarrierReward, ComparesWithTheBestSoFar) {
  BarrierReward reward;
  EXPECT_EQ(reward(0.1, 10, 100), 0) << "the first value sets p*";
  EXPECT_EQ(reward(0.1, 10, 400), 1);
  EXPECT_EQ(reward(0.05, 10, 400), -1) << "p* is 0.18";
  EXPECT_EQ(reward(0.081, 10, 400), 0) << "p* is 0.162";
  EXPECT_EQ(reward(0.07295, 10, 400), 0) << "within a thousandth of p*, 0.1458";
  EXPECT_EQ(reward(0.0659, 10, 400), 1) << "p* is 0.1313";
}

// Gains that stay below an early one are compared with each other after a while.
TEST(BarrierReward, AnEarlyBestIsForgotten) {
  BarrierReward reward;
  reward(0.1, 10, 100);
  int epochs = 0;
  while (reward(0.01, 10, 100) < 0 && epochs < 100) ++epochs;
  EXPECT_LT(epochs, 30);
  EXPECT_EQ(reward(0.005, 10, 100), -1);
  EXPECT_EQ(reward(0.02, 10, 100), 1);
}

TEST(BarrierReward, FallingAccuracyGivesNoReward) {
  BarrierReward reward;
  EXPECT_EQ(reward(-0.1, 10, 100), -1);
  EXPECT_EQ(reward(0, 10, 100), -1);
  EXPECT_EQ(reward(0.1, 10, 100), 0) << "and it did not change p*";
  EXPECT_EQ(reward(-0.2, 10, 100), -1);
}

// The square root compensates a flattening curve: half the gain after four times the steps counts the same.
TEST(BarrierReward, TheRootOffsetsFlattening) {
  BarrierReward reward;
  EXPECT_EQ(reward(0.1, 10, 100), 0);
  EXPECT_EQ(reward(0.9 * 0.05, 10, 400), 0) << "p* has lost a tenth";
  EXPECT_EQ(reward(0.05, 9, 400), 1);
}

TEST(BarrierReward, RewardIsRestored) {
  BarrierReward reward, restored;
  reward(0.1, 10, 100);
  StateWriter writer("t");
  writer(reward);
  StateReader reader(writer.str(), "t");
  reader(restored);
  EXPECT_EQ(restored(0.05, 10, 100), -1);
}

TEST(BarrierPeriod, MovesByAMiniBatchWithinItsRange) {
  BarrierPeriod period;
  EXPECT_EQ(period.longest_batches(), 1);
  period.move(-1);
  EXPECT_EQ(period.longest_batches(), 1);
  period.move(1);
  EXPECT_DOUBLE_EQ(period.longest_batches(), 2);
  BarrierPeriod end(40);
  EXPECT_EQ(end.longest_batches(), 16);
  end.move(1);
  EXPECT_EQ(end.longest_batches(), 16);
  end.move(-1);
  EXPECT_DOUBLE_EQ(end.longest_batches(), 15);
}

}  // namespace
}  // namespace steelyard::balancing::orchestra::barrier_test
