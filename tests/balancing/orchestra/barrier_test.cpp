#include "balancing/orchestra/barrier.h"

#include <gmock/gmock.h>

namespace steelyard::balancing::orchestra::barrier_test {
namespace {

// Orchestra, section 3.1.3, computed by hand: p = 0.1 / 10 sqrt(100) = 0.1 sets p*; then 0.1 / 10
// sqrt(400) = 0.2 is better, and 0.05 / 10 sqrt(400) = 0.1 is half of that.
TEST(BarrierReward, ComparesWithTheBestSoFar) {
  BarrierReward reward;
  EXPECT_EQ(reward(0.1, 10, 100), 0) << "the first value sets p*";
  EXPECT_EQ(reward(0.1, 10, 400), 1);
  EXPECT_EQ(reward(0.05, 10, 400), -1);
  EXPECT_EQ(reward(0.1, 10, 400), 0) << "p* is still 0.2";
  EXPECT_EQ(reward(0.10005, 10, 400), 0) << "within a thousandth of p*";
  EXPECT_EQ(reward(0.1003, 10, 400), 1);
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
  EXPECT_EQ(reward(0.05, 10, 400), 0);
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

TEST(BarrierPeriod, StaysWithinItsRange) {
  BarrierPeriod period;
  EXPECT_EQ(period.longest_batches(), 1);
  period.move(-1);
  EXPECT_EQ(period.longest_batches(), 1);
  period.move(1);
  EXPECT_DOUBLE_EQ(period.longest_batches(), 1.01);
  BarrierPeriod end(40);
  EXPECT_EQ(end.longest_batches(), 16);
  end.move(1);
  EXPECT_EQ(end.longest_batches(), 16);
  end.move(-1);
  EXPECT_DOUBLE_EQ(end.longest_batches(), 15.99);
}

}  // namespace
}  // namespace steelyard::balancing::orchestra::barrier_test
