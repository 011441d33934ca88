#include "balancing/orchestra/pace.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "core/random.h"

namespace steelyard::balancing::orchestra::load_balance_test {
namespace {

// Orchestra, section 3.1.1, by hand: t = (2, 3) in units of 1. T = 3, 4, 5, 6 leave 1, 1, 2, 0 idle.
TEST(LoadBalance, TheFirstCommonMultipleHasNoIdleTime) {
  const std::array<double, 2> times{2, 3};
  const Period period = best_period(times, {.unit = 1.0 / 3});
  EXPECT_DOUBLE_EQ(period.seconds, 6);
  EXPECT_NEAR(period.idle, 0, 1e-9);
  EXPECT_EQ(local_steps(period.seconds, times[0]), 3u);
  EXPECT_EQ(local_steps(period.seconds, times[1]), 2u);
}

TEST(LoadBalance, TheShortestOfEqualPeriodsIsChosen) {
  const std::array<double, 3> alike{2, 2, 2}, doubled{1, 2, 4};
  EXPECT_DOUBLE_EQ(best_period(alike).seconds, 2);
  EXPECT_DOUBLE_EQ(best_period(doubled).seconds, 4) << "and not 8";
}

// t = (1, 1.9): the idle times are 0.9, ..., 0.1 at 2, ... and 0 at 19, where tau is (19, 10).
TEST(LoadBalance, StepsDifferByAtMostTheLimit) {
  const std::array<double, 2> times{1, 1.9};
  const SearchOptions far{.unit = 0.1 / 1.9, .most_apart = 9}, near{.unit = 0.1 / 1.9, .most_apart = 2};
  EXPECT_NEAR(best_period(times, far).seconds, 19, 1e-9);
  const Period period = best_period(times, near);
  EXPECT_LE(local_steps(period.seconds, 1) - local_steps(period.seconds, 1.9), 2u);
  EXPECT_NEAR(period.seconds, 2, 1e-9);
  EXPECT_NEAR(period.idle, 0.1, 1e-9);
}

TEST(LoadBalance, TheShortestPeriodMayExceedTheLimit) {
  const std::array<double, 2> times{1, 100.5};
  EXPECT_DOUBLE_EQ(best_period(times).seconds, 100.5);
  EXPECT_EQ(local_steps(1, 100.5), 1u) << "at least one";
}

TEST(LoadBalance, FindsTheBestPeriodOfTheSearch) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    std::array<double, 4> times{};
    for (double& time : times) time = 0.5 + random.uniform();
    const double longest = *std::ranges::max_element(times), shortest = *std::ranges::min_element(times);
    const Period best = best_period(times);
    for (int k = 0; k <= 1500; ++k) {
      const double period = longest * (1 + 0.01 * k);
      if (local_steps(period, shortest) - local_steps(period, longest) > 16) break;
      double idle = 0;
      for (const double time : times) {
        idle = std::max(idle, period - static_cast<double>(local_steps(period, time)) * time);
      }
      ASSERT_GE(idle, best.idle - 1e-7);
    }
  }
}

}  // namespace
}  // namespace steelyard::balancing::orchestra::load_balance_test
