#include "sim/batch_time.h"

#include <gtest/gtest.h>

namespace steelyard::sim::speed_trace_test {
namespace {

// Full speed before 10 s, half from 10 s on, double from 20 s on.
const SpeedTrace stairs{SpeedTrace::Kind::speed, {5, 10, 20}, {1, 0.5, 2}};

TEST(SpeedTraces, AnEmptyTraceChangesNothing) {
  EXPECT_EQ(SpeedTrace().took_s(3, 7), 7);
  EXPECT_EQ(SpeedTrace().mean(3, 7), 1);
}

TEST(SpeedTraces, WorkWithinAStepTakesItsSpeed) {
  EXPECT_DOUBLE_EQ(stairs.took_s(0, 3), 3) << "the first level also applies before its start";
  EXPECT_DOUBLE_EQ(stairs.took_s(11, 3), 6);
  EXPECT_DOUBLE_EQ(stairs.took_s(100, 3), 1.5) << "the last level never ends";
}

TEST(SpeedTraces, WorkAcrossAStepTakesBothSpeeds) {
  EXPECT_DOUBLE_EQ(stairs.took_s(8, 3), 2 + 2) << "2 s at full speed, then 1 s of work at half speed";
  EXPECT_DOUBLE_EQ(stairs.took_s(8, 2 + 5 + 4), 2 + 10 + 2) << "over all three levels";
  EXPECT_DOUBLE_EQ(stairs.took_s(8, 2), 2) << "ends exactly at the step";
}

TEST(SpeedTraces, TheMeanIsTimeWeighted) {
  EXPECT_DOUBLE_EQ(stairs.mean(8, 12), 0.75);
  EXPECT_DOUBLE_EQ(stairs.mean(9, 21), (1 + 5 + 2) / 12.0);
  EXPECT_DOUBLE_EQ(stairs.mean(10, 10), 0.5);
  EXPECT_DOUBLE_EQ(stairs.mean(30, 50), 2);
}

}  // namespace
}  // namespace steelyard::sim::speed_trace_test
