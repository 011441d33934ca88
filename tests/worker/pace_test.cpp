#include "worker/compute/pace.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace steelyard {
namespace {

// Uses this thread's processor for so long.
void work(Duration time) {
  const Duration until = thread_cpu_time() + time;
  while (thread_cpu_time() < until) {
  }
}

TEST(Pace, StretchesWorkOnTheWholeAndNotEachPart) {
  Pace pace(3);
  work(milliseconds(5));  // before the beginning: not counted
  const Time start = steady_now();
  const Duration cpu = thread_cpu_time();
  for (int part = 0; part < 10; ++part) {
    pace.begin();
    work(milliseconds(1));
    pace.rest();
  }
  // Oversleeping is taken off later parts, but the sum never falls short of the work of ten parts.
  EXPECT_GE(seconds(steady_now() - start), 3 * 0.010);
  EXPECT_GE(seconds(thread_cpu_time() - cpu), 0.010);
}

TEST(Pace, RefusesToBeFasterThanTheMachine) {
  EXPECT_NO_THROW(Pace(1));
  for (const double bad : {0.5, 0.0, -1.0, std::nan(""), HUGE_VAL}) EXPECT_THROW(Pace{bad}, Failure) << bad;
}

}  // namespace
}  // namespace steelyard
