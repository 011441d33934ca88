// The random number of local steps of each worker.
#include "scheduler/rounds/epoch_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/random.h"

namespace steelyard::drawn_steps_test {
namespace {

using ::testing::Each;

std::uint64_t sum(const std::vector<std::uint64_t>& steps) {
  return std::accumulate(steps.begin(), steps.end(), std::uint64_t{0});
}

TEST(DrawnSteps, EqualSpeedsGetEqualSteps) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_THAT(drawn_steps(std::vector<std::uint64_t>(5, 30), 40, seed), Each(8U));
}

TEST(DrawnSteps, RoundedEqualSharesGetEqualSteps) {
  const std::vector<std::uint64_t> shares{27, 27, 26}, unlike{2, 2, 1};
  std::uint64_t fewer = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_THAT(drawn_steps(shares, 12, seed), Each(4U));
    fewer += drawn_steps(unlike, 15, seed)[2] < 5 ? 1 : 0;
  }
  EXPECT_GT(fewer, 50U) << "rounding cannot halve a share";
}

TEST(DrawnSteps, EveryDrawTakesAllBatches) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<std::uint64_t> speeds(1 + random.below(10));
    for (std::uint64_t& speed : speeds) speed = random.below(4) * random.below(100);
    speeds[random.below(speeds.size())] += 1;
    const std::uint64_t batches = random.below(200);
    const std::vector<std::uint64_t> steps = drawn_steps(speeds, batches, seed);
    EXPECT_EQ(sum(steps), batches);
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      if (speeds[i] == 0) {
        EXPECT_EQ(steps[i], 0U);
      }
    }
    EXPECT_EQ(drawn_steps(speeds, batches, seed), steps) << "the same arguments, the same draw";
  }
}

// MLL-SGD (Castiglia, Das, Patterson, ICLR 2021, section 5): 10 % of the workers with p = 0.1 and the rest
// with 0.6. Only their ratio counts: p is 1 for the quickest here.
TEST(DrawnSteps, StepsFollowSpeedsOnAverageAndVaryByRound) {
  std::vector<std::uint64_t> speeds(10, 60), all(10);
  speeds[4] = 10;
  std::uint64_t differ = 0;
  for (std::uint64_t round = 0; round < 2000; ++round) {
    const std::vector<std::uint64_t> steps = drawn_steps(speeds, 80, hash(7, round));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += steps[i];
    differ += steps[4] != 1 ? 1 : 0;
  }
  const double quick = static_cast<double>(sum(all) - all[4]) / 9;
  EXPECT_NEAR(static_cast<double>(all[4]) / quick, 1.0 / 6, 0.01);
  EXPECT_GT(differ, 500U) << "drawn, not rounded";
}

// The step left over must not go to the same worker every time.
TEST(DrawnSteps, TheWorkerOfTheLastStepIsDrawnToo) {
  std::vector<std::uint64_t> all(4);
  for (std::uint64_t round = 0; round < 400; ++round) {
    const std::vector<std::uint64_t> steps = drawn_steps(std::vector<std::uint64_t>(4, 1), 5, round);
    for (std::size_t i = 0; i < 4; ++i) all[i] += steps[i] - 1;
  }
  for (const std::uint64_t more : all) EXPECT_NEAR(static_cast<double>(more), 100, 40);
}

}  // namespace
}  // namespace steelyard::drawn_steps_test
