#include "balancing/work_time.h"

#include <gtest/gtest.h>

#include <limits>

namespace steelyard::balancing::work_time_test {
namespace {

TEST(WorkTime, APerfectDivisionLosesOnlyTheExchange) {
  const WorkTime it = work_time({0, 0.5, {{0, 300, 0.4}, {1, 100, 0.4}}});
  EXPECT_DOUBLE_EQ(it.computing(), 0.8);
  EXPECT_DOUBLE_EQ(it.efficiency(), 0.8);
}

// 100 + 100 samples; at 1000 and 250 samples a second, both workers together need 0.16 s for them.
TEST(WorkTime, EqualSharesOfUnequalWorkersAlsoLoseWaitingTime) {
  const WorkTime it = work_time({0, 0.5, {{0, 100, 0.1}, {1, 100, 0.4}}});
  EXPECT_DOUBLE_EQ(it.computing(), 0.8);
  EXPECT_DOUBLE_EQ(it.efficiency(), 0.16 / 0.5);
}

TEST(WorkTime, RoundsAddUpByTime) {
  WorkTime it = work_time({0, 1, {{0, 10, 1}}});
  it += work_time({1, 3, {{0, 10, 1}}});
  EXPECT_DOUBLE_EQ(it.computing(), 0.5);
  EXPECT_DOUBLE_EQ(it.efficiency(), 0.5);
}

TEST(WorkTime, IdleWorkersDoNotCount) {
  const WorkTime it = work_time({0, 0.5, {{0, 100, 0.4}, {1, 0, 0}, {2, 0, 0.3}}});
  EXPECT_DOUBLE_EQ(it.efficiency(), 0.8);
}

TEST(WorkTime, MissingMeasurementsGiveMinusOne) {
  constexpr double never = std::numeric_limits<double>::infinity();
  for (const RoundTimes& round : {RoundTimes{0, 0, {{0, 10, 1}}}, RoundTimes{0, 1, {}},
                                  RoundTimes{0, 1, {{0, 10, 0}}}, RoundTimes{0, never, {{0, 10, 1}}}}) {
    EXPECT_EQ(work_time(round).computing(), -1);
    EXPECT_EQ(work_time(round).efficiency(), -1);
  }
}

}  // namespace
}  // namespace steelyard::balancing::work_time_test
