#include "worker/compute/pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

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
  Pace pace(Handicap::parse("3", "1"));
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

TEST(Pace, FollowsWhatChanges) {
  Pace pace(Handicap::parse("1, 5@0.05", "1"));
  pace.begin();
  const Time start = steady_now();
  work(milliseconds(2));
  pace.rest();  // full speed so far
  while (steady_now() - start < milliseconds(50)) {
  }
  pace.begin();
  work(milliseconds(5));
  pace.rest();
  EXPECT_GE(seconds(steady_now() - start), 0.050 + 5 * 0.005);
}

TEST(Pace, WhatOthersTakeSlowsDownAndIsTold) {
  Pace pace(Handicap::parse("2", "0.25"));
  EXPECT_EQ(pace.take_cpu(), 1) << "nothing is known yet";
  pace.begin();
  const Time start = steady_now();
  work(milliseconds(2));
  pace.rest();
  EXPECT_GE(seconds(steady_now() - start), 8 * 0.002);
  EXPECT_NEAR(pace.take_cpu().value_or(-1), 0.25, 1e-9);
  EXPECT_EQ(pace.take_cpu(), 1) << "of the time since the last call";
  EXPECT_EQ(Pace(Handicap::parse("2", "1")).take_cpu(), std::nullopt);
}

// Whenever the step comes, both levels are in the mean: work goes on until it does.
TEST(Pace, TellsTheMeanOverItsWork) {
  Pace pace(Handicap::parse("1", "1, 0.5@0.3"));
  pace.begin();
  const Time start = steady_now();
  double lowest = 1, highest = 0;
  while (seconds(steady_now() - start) < 0.35) {
    work(milliseconds(1));
    pace.rest();
    const double cpu = pace.take_cpu().value_or(-1);
    lowest = std::min(lowest, cpu), highest = std::max(highest, cpu);
  }
  EXPECT_EQ(lowest, 0.5);
  EXPECT_EQ(highest, 1);
}

TEST(Handicap, RefusesWhatIsNone) {
  const auto refusal = [](const char* slow, const char* cpu) -> std::string {
    try {
      (void)Handicap::parse(slow, cpu);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      return failure.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("1000", "0.01"), "accepted");
  EXPECT_EQ(refusal("0.5", "1"), "slow = \"0.5\": give " + Handicap::slow_expected());
  EXPECT_EQ(refusal("1", "1.5"), "cpu = \"1.5\": give " + Handicap::cpu_expected());
  EXPECT_EQ(refusal("1", "0"), "cpu = \"0\": give " + Handicap::cpu_expected());
  for (const char* bad : {"", "0.9", "1001", "2, 0.5@3", "2, 3@0"})
    EXPECT_FALSE(Handicap::is_slow(bad)) << bad;
  for (const char* bad : {"", "0", "1.1", "1, 2@3"}) EXPECT_FALSE(Handicap::is_cpu(bad)) << bad;
}

}  // namespace
}  // namespace steelyard
