#include "nn/optimizer/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace steelyard::nn {
namespace {

using Kind = Schedule::Kind;

TEST(Schedule, ConstantStaysAtItsBase) {
  const Schedule schedule{.kind = Kind::constant, .base = 0.25, .epochs = 4};
  for (const double e : {0.0, 1.5, 4.0, 100.0}) EXPECT_EQ(learning_rate(schedule, e), 0.25) << e;
}

TEST(Schedule, WarmupIsLinearFromZeroAndShareOfTheWholeTraining) {
  const Schedule schedule{.kind = Kind::constant, .base = 0.5, .warmup = 0.25, .epochs = 8};
  EXPECT_EQ(learning_rate(schedule, 0), 0);
  EXPECT_EQ(learning_rate(schedule, 0.5), 0.125);
  EXPECT_EQ(learning_rate(schedule, 1), 0.25);
  EXPECT_EQ(learning_rate(schedule, 2), 0.5);
  EXPECT_EQ(learning_rate(schedule, 3), 0.5);
}

TEST(Schedule, StepFallsAtEachBoundaryAndNotBefore) {
  const Schedule schedule{.kind = Kind::step, .base = 8, .epochs = 90, .step_epochs = 30, .step_factor = 0.5};
  EXPECT_EQ(learning_rate(schedule, 0), 8);
  EXPECT_EQ(learning_rate(schedule, 29.999), 8);
  EXPECT_EQ(learning_rate(schedule, 30), 4);
  EXPECT_EQ(learning_rate(schedule, 59.999), 4);
  EXPECT_EQ(learning_rate(schedule, 60), 2);
  EXPECT_EQ(learning_rate(schedule, 90), 1);
}

TEST(Schedule, StepForgivesRoundingOfTheBoundary) {
  const Schedule schedule{.kind = Kind::step, .base = 1, .epochs = 1, .step_epochs = 0.1, .step_factor = 0.5};
  ASSERT_LT(0.3 / 0.1, 3) << "the example shows nothing";
  EXPECT_EQ(learning_rate(schedule, 0.3), 0.125);
}

TEST(Schedule, StepsCountTheWarmup) {
  const Schedule schedule{
      .kind = Kind::step, .base = 8, .warmup = 0.5, .epochs = 8, .step_epochs = 3, .step_factor = 0.5};
  EXPECT_EQ(learning_rate(schedule, 3.5), 7);
  EXPECT_EQ(learning_rate(schedule, 4), 4);
  EXPECT_EQ(learning_rate(schedule, 6), 2);
}

TEST(Schedule, CosineGoesFromBaseToFinal) {
  const Schedule schedule{.kind = Kind::cosine, .base = 1, .epochs = 12, .final = 0.2};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 1);
  EXPECT_NEAR(learning_rate(schedule, 3), 0.8828427124746190, 1e-14);  // 0.2 + 0.4 (1 + sqrt(1/2))
  EXPECT_NEAR(learning_rate(schedule, 4), 0.8, 1e-14);                 // cos(60 degrees) = 1/2
  EXPECT_NEAR(learning_rate(schedule, 6), 0.6, 1e-14);
  EXPECT_NEAR(learning_rate(schedule, 8), 0.4, 1e-14);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 20), 0.2);
}

TEST(Schedule, CosineBeginsBehindTheWarmup) {
  const Schedule schedule{.kind = Kind::cosine, .base = 1, .warmup = 0.25, .epochs = 8};
  EXPECT_EQ(learning_rate(schedule, 1), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 2), 1);
  EXPECT_NEAR(learning_rate(schedule, 4), 0.75, 1e-14);
  EXPECT_NEAR(learning_rate(schedule, 5), 0.5, 1e-14);
  EXPECT_NEAR(learning_rate(schedule, 8), 0, 1e-14);
}

void expect_refused(const Schedule& schedule, const char* key) {
  try {
    validate(schedule);
    ADD_FAILURE() << key << " was accepted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), testing::HasSubstr(key));
  }
}

TEST(Schedule, RefusesWhatGivesNoRates) {
  const double infinite = std::numeric_limits<double>::infinity();
  expect_refused({.base = 0}, "base");
  expect_refused({.base = infinite}, "base");
  expect_refused({.warmup = 1}, "warmup");
  expect_refused({.warmup = -0.1}, "warmup");
  expect_refused({.epochs = 0}, "epochs");
  expect_refused({.kind = Kind::step, .step_epochs = 0}, "step_epochs");
  expect_refused({.kind = Kind::step, .step_factor = -1}, "step_factor");
  expect_refused({.kind = Kind::cosine, .final = -0.1}, "final");
  EXPECT_NO_THROW(validate({}));
  EXPECT_NO_THROW(validate({.kind = Kind::step, .warmup = 0.1}));
  EXPECT_NO_THROW(validate({.kind = Kind::cosine, .epochs = 0.5}));
}

}  // namespace
}  // namespace steelyard::nn
