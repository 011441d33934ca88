#include "worker/compute/check_schedule.h"

#include <gtest/gtest.h>

namespace steelyard::check_schedule_test {
namespace {

Time at(long ms) { return Time{} + milliseconds(ms); }

// How many pieces begin at this time before one is checked; at most `most`.
int pieces_before_a_check(CheckSchedule& schedule, Time now, int most = 5000) {
  for (int i = 0; i < most; ++i) {
    if (schedule.due(now)) {
      schedule.begin();
      return i;
    }
    schedule.pass();
  }
  return most;
}

TEST(CheckSchedule, TakesTheFirstPieceAndOneIn1024) {
  CheckSchedule schedule;
  EXPECT_EQ(pieces_before_a_check(schedule, at(0)), 0);
  schedule.within_limit(at(0), Duration{});
  EXPECT_EQ(pieces_before_a_check(schedule, at(1)), 1023);
}

TEST(CheckSchedule, TakesAtMostOne200thOfTheTime) {
  CheckSchedule schedule;
  EXPECT_EQ(pieces_before_a_check(schedule, at(0)), 0);
  schedule.within_limit(at(1000), milliseconds(50));
  EXPECT_EQ(pieces_before_a_check(schedule, at(10'999)), 5000) << "1,024 fast pieces are not enough";
  EXPECT_EQ(pieces_before_a_check(schedule, at(11'000)), 0);
}

// Not only after 200 times the cost of the last good check.
TEST(CheckSchedule, AnErrorIsFollowedAtOnce) {
  CheckSchedule schedule;
  EXPECT_EQ(pieces_before_a_check(schedule, at(0)), 0);
  schedule.within_limit(at(0), milliseconds(1));
  EXPECT_EQ(pieces_before_a_check(schedule, at(200)), 1023);
  schedule.beyond_limit();
  EXPECT_EQ(pieces_before_a_check(schedule, at(200)), 0);
}

}  // namespace
}  // namespace steelyard::check_schedule_test
