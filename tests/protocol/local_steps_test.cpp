#include "protocol/local_steps.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace steelyard::local_steps_test {
namespace {

TEST(LocalSteps, PartsAreContiguousAndDifferByAtMostOne) {
  for (std::uint64_t size = 1; size < 40; ++size) {
    for (std::uint64_t steps = 1; steps < 45; ++steps) {
      const Interval whole{100, 100 + size};
      Position at = whole.begin;
      for (std::uint64_t step = 0; step < steps; ++step) {
        const Interval part = part_of(whole, step, steps);
        EXPECT_EQ(part.begin, at);
        EXPECT_GE(part.size(), size / steps);
        EXPECT_LE(part.size(), size / steps + 1);
        at = part.end;
      }
      EXPECT_EQ(at, whole.end);
    }
  }
}

TEST(LocalSteps, PartsEndAtGrainBorders) {
  constexpr std::uint64_t grain = 4;
  for (std::uint64_t size = 1; size < 80; ++size) {
    for (std::uint64_t steps = 1; steps < 25; ++steps) {
      const Interval whole{100, 100 + size};
      Position at = whole.begin;
      std::uint64_t fewest = UINT64_MAX, most = 0;
      for (std::uint64_t step = 0; step < steps; ++step) {
        const Interval part = part_of(whole, step, steps, grain);
        EXPECT_EQ(part.begin, at);
        EXPECT_TRUE(part.empty() || on_grains(whole, part, grain)) << part.begin << " to " << part.end;
        fewest = std::min(fewest, grains_in(part.size(), grain));
        most = std::max(most, grains_in(part.size(), grain));
        at = part.end;
      }
      EXPECT_EQ(at, whole.end);
      EXPECT_LE(most, fewest + 1);
    }
  }
}

TEST(LocalSteps, RatesFollowTheScheduleWithinTheRound) {
  nn::Schedule schedule;
  schedule.kind = nn::Schedule::Kind::step;
  schedule.base = 1;
  schedule.step_epochs = 1;
  schedule.step_factor = 0.5;
  const Interval all{0, 100};
  const LocalSteps local{4, 3};  // three epochs of four steps
  EXPECT_DOUBLE_EQ(step_rate(schedule, 100, 0, all, local, 0, 3), 1);
  EXPECT_DOUBLE_EQ(step_rate(schedule, 100, 0, all, local, 2, 0), 0.25);
  EXPECT_DOUBLE_EQ(step_rate(schedule, 100, 1, all, local, 2, 0), 0.125) << "a round that begins in epoch 1";
  EXPECT_DOUBLE_EQ(round_rate(schedule, 100, 0, all, local), 1) << "the largest rate of the round";
}

TEST(LocalSteps, ASingleStepUsesTheRoundsRate) {
  nn::Schedule schedule;
  schedule.kind = nn::Schedule::Kind::cosine;
  schedule.warmup = 0.3;
  for (Position begin = 0; begin < 1000; begin += 37) {
    const Interval round{begin, begin + 37};
    const double plain = nn::learning_rate(schedule, static_cast<double>(begin) / 1000);
    EXPECT_EQ(round_rate(schedule, 1000, 0, round, {}), plain);
    EXPECT_EQ(round_rate(schedule, 1000, 0, round, {1, 1}), plain);
  }
}

// Balanced DiLoCo: the walk is the distance covered with constant gradient 1 and learning rate 1.
TEST(LocalSteps, TheWalkIsThatOfTheOptimizersRecurrence) {
  using Kind = nn::Optimizer::Kind;
  EXPECT_DOUBLE_EQ(walk({Kind::sgd, 0.9, 0}, 7), 7) << "plain SGD ignores the momentum value";
  EXPECT_NEAR(walk({Kind::momentum, 0.9, 0}, 4), 9.049, 1e-9);
  EXPECT_NEAR(walk({Kind::momentum, 0.9, 0}, 8), 28.7420489, 1e-9);
  EXPECT_NEAR(walk({Kind::nesterov, 0.9, 0}, 2), 4.61, 1e-9);
  for (const Kind kind : {Kind::sgd, Kind::momentum, Kind::nesterov}) {
    for (const double momentum : {0.0, 0.3, 0.99}) {
      double m = 0, far = 0;
      const double mu = kind == Kind::sgd ? 0 : momentum;
      for (std::uint64_t steps = 1; steps < 200; ++steps) {
        m = mu * m + 1;
        far += kind == Kind::nesterov ? 1 + mu * m : m;
        EXPECT_NEAR(walk({kind, momentum, 0}, steps), far, 1e-9 * far);
      }
    }
  }
}

TEST(LocalSteps, BalancedStepsFollowFromTheShare) {
  EXPECT_EQ(balanced_batch(64 * 512, 64, 4, 1), 128U);
  EXPECT_EQ(balanced_batch(64 * 512, 64, 3, 1), 171U)
      << "rounded up, so that no worker takes more than 64 steps";
  EXPECT_EQ(balanced_batch(64 * 512, 64, 3, 32), 192U) << "rounded up to whole grains";
  EXPECT_EQ(balanced_batch(5, 64, 3, 1), 1U);
  EXPECT_EQ(balanced_batch(5, UINT64_MAX, 3, 8), 8U);
  const LocalSteps local{64, 1, 128};
  EXPECT_EQ(steps_of(local, 110 * 128), 110U);
  EXPECT_EQ(steps_of(local, 110 * 128 + 1), 111U);
  EXPECT_EQ(steps_of({64, 1}, 110 * 128), 64U);
  EXPECT_EQ(part_of({1000, 1300}, 1, local, 1), (Interval{1128, 1256}));
  EXPECT_EQ(part_of({1000, 1300}, 2, local, 1), (Interval{1256, 1300})) << "the remainder";
  EXPECT_EQ(part_of({1000, 1300}, 1, {3, 1}, 1), (Interval{1100, 1200}));
}

TEST(LocalSteps, TheLongestRoundDependsOnTheMode) {
  const auto longest = [](const char* sync, std::uint64_t samples, std::uint64_t batch,
                          std::uint64_t epochs) {
    return steps_of_longest_round(parse_sync(sync), samples, batch, epochs);
  };
  EXPECT_EQ(longest("bsp", 1000, 10, 5), 0U);
  EXPECT_EQ(longest("local:7", 1000, 10, 5), 7U);
  EXPECT_EQ(longest("oneshot:epoch", 1001, 10, 5), 101U);
  EXPECT_EQ(longest("oneshot:end", 1001, 10, 5), 505U);
  EXPECT_EQ(longest("orchestra", 1001, 10, 5), 101U) << "no longer than an epoch";
  EXPECT_EQ(longest("oneshot:end", UINT64_MAX, 1, 5), UINT64_MAX);
}

}  // namespace
}  // namespace steelyard::local_steps_test
