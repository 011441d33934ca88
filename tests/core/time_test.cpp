#include "core/time.h"

#include <gtest/gtest.h>

namespace steelyard::time_test {
namespace {

TEST(Time, AddingToNeverIsStillNever) {
  EXPECT_EQ(Time::max() + from_seconds(1), Time::max());
  EXPECT_GT(Time::max(), Time{} + from_seconds(1e6));
}

TEST(Time, SecondsRoundTrip) {
  EXPECT_EQ(from_seconds(1.5), std::chrono::milliseconds(1500));
  EXPECT_DOUBLE_EQ(seconds(milliseconds(250)), 0.25);
  EXPECT_EQ((Time{} + from_seconds(3)) - (Time{} + from_seconds(1)), from_seconds(2));
  EXPECT_LT(from_seconds(-1), Duration::zero());
}

TEST(Time, TheSteadyClockNeverGoesBack) {
  Time last = steady_now();
  for (int i = 0; i < 1000; ++i) {
    const Time now = steady_now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Time, ThreadTimeGrowsWithWork) {
  const Duration before = thread_cpu_time();
  volatile double sum = 0;
  for (int i = 0; i < 2'000'000; ++i) sum = sum + i;
  EXPECT_GT(thread_cpu_time(), before);
}

}  // namespace
}  // namespace steelyard::time_test
