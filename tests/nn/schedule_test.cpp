#include "nn/optimizer/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace steelyard::nn::schedule_test {
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

TEST(Schedule, StepToleratesRoundingOfTheBoundary) {
  const Schedule schedule{.kind = Kind::step, .base = 1, .epochs = 1, .step_epochs = 0.1, .step_factor = 0.5};
  ASSERT_LT(0.3 / 0.1, 3) << "without this rounding the test checks nothing";
  EXPECT_EQ(learning_rate(schedule, 0.3), 0.125);
}

TEST(Schedule, StepsCountTheWarmup) {
  const Schedule schedule{
      .kind = Kind::step, .base = 8, .warmup = 0.5, .epochs = 8, .step_epochs = 3, .step_factor = 0.5};
  EXPECT_EQ(learning_rate(schedule, 3.5), 7);
  EXPECT_EQ(learning_rate(schedule, 4), 4);
  EXPECT_EQ(learning_rate(schedule, 6), 2);
}

TEST(Schedule, CosineDecreasesFromBaseToFinal) {
  const Schedule schedule{.kind = Kind::cosine, .base = 1, .epochs = 12, .final = 0.2};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 1);
  EXPECT_NEAR(learning_rate(schedule, 3), 0.8828427124746190, 1e-14);  // 0.2 + 0.4 (1 + sqrt(1/2))
  EXPECT_NEAR(learning_rate(schedule, 4), 0.8, 1e-14);                 // cos(60 degrees) = 1/2
  EXPECT_NEAR(learning_rate(schedule, 6), 0.6, 1e-14);
  EXPECT_NEAR(learning_rate(schedule, 8), 0.4, 1e-14);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 20), 0.2);
}

TEST(Schedule, CosineStartsAfterTheWarmup) {
  const Schedule schedule{.kind = Kind::cosine, .base = 1, .warmup = 0.25, .epochs = 8};
  EXPECT_EQ(learning_rate(schedule, 1), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 2), 1);
  EXPECT_NEAR(learning_rate(schedule, 4), 0.75, 1e-14);
  EXPECT_NEAR(learning_rate(schedule, 5), 0.5, 1e-14);
  EXPECT_NEAR(learning_rate(schedule, 8), 0, 1e-14);
}

TEST(Schedule, TablesHoldEachRateAndKeepTheLast) {
  const Schedule schedule{.kind = Kind::table, .epochs = 5, .step_epochs = 2, .rates = {8, 4, 0, 1}};
  EXPECT_EQ(learning_rate(schedule, 0), 8) << "the base does not matter";
  EXPECT_EQ(learning_rate(schedule, 1.999), 8);
  EXPECT_EQ(learning_rate(schedule, 2), 4);
  EXPECT_EQ(learning_rate(schedule, 4), 0);
  EXPECT_EQ(learning_rate(schedule, 6), 1);
  EXPECT_EQ(learning_rate(schedule, 1e12), 1);
  EXPECT_EQ(learning_rate({.kind = Kind::table, .base = 3}, 1), 3) << "without entries";
}

// Rounds as in jobs: the last round of an epoch is shorter, and each epoch starts with a new round.
TEST(Schedule, TablesHaveAnEntryPerRoundInUnevenEpochs) {
  for (const auto& [samples, batch] : {std::pair(10, 4),
                                       {10, 5},
                                       {10, 10},
                                       {3, 1},
                                       {7, 6},
                                       {1000, 333},
                                       {50'000, 128},
                                       {60'000, 512},
                                       {99'999, 100},
                                       {1'000'003, 17}}) {
    const int rounds = (samples + batch - 1) / batch;
    Schedule schedule{.kind = Kind::table,
                      .epochs = 3,
                      .step_epochs = static_cast<double>(batch) / samples,
                      .rates = std::vector<double>(static_cast<std::size_t>(3 * rounds))};
    std::iota(schedule.rates.begin(), schedule.rates.end(), 0.0);
    for (int round = 0; round < 3 * rounds; ++round) {
      const double begin = static_cast<double>(round % rounds) * batch;
      ASSERT_EQ(learning_rate(schedule, round / rounds + begin / samples), round)
          << samples << " in rounds of " << batch;
      ASSERT_EQ(
          learning_rate(schedule, round / rounds + std::min(begin + batch - 0.5, samples - 0.5) / samples),
          round)
          << "to the end of a round, " << samples << " in rounds of " << batch;
    }
    EXPECT_EQ(learning_rate(schedule, 3), 3 * rounds - 1);
  }
}

// 49 * (1 / 49) is below 1, and 0.1 * 3 above 0.3: each round must still get its own entry.
TEST(Schedule, TablesTolerateRoundingOfTheEpoch) {
  Schedule schedule{.kind = Kind::table, .step_epochs = 0.1, .rates = std::vector<double>(20'000)};
  std::iota(schedule.rates.begin(), schedule.rates.end(), 0.0);
  for (int round = 0; round < 20'000; ++round)
    ASSERT_EQ(learning_rate(schedule, round / 10 + static_cast<double>(round % 10) / 10), round);
}

TEST(Schedule, TinyStepsDoNotOverflowTheTable) {
  for (const double share : {1e-300, 5e-324, 1e-12}) {
    const Schedule schedule{.kind = Kind::table, .step_epochs = share, .rates = {2, 1}};
    for (const double e : {0.5, 1.0, 7.25}) EXPECT_EQ(learning_rate(schedule, e), 1) << share;
  }
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

TEST(Schedule, RefusesInvalidSchedules) {
  const double infinite = std::numeric_limits<double>::infinity();
  expect_refused({.base = 0}, "base");
  expect_refused({.base = infinite}, "base");
  expect_refused({.warmup = 1}, "warmup");
  expect_refused({.warmup = -0.1}, "warmup");
  expect_refused({.epochs = 0}, "epochs");
  expect_refused({.kind = Kind::step, .step_epochs = 0}, "step_epochs");
  expect_refused({.kind = Kind::step, .step_factor = -1}, "step_factor");
  expect_refused({.kind = Kind::cosine, .final = -0.1}, "final");
  const Schedule table{.kind = Kind::table, .rates = {0.1, 0}};
  const auto other = [&](auto change) {
    Schedule it = table;
    change(it);
    return it;
  };
  EXPECT_NO_THROW(validate(table));
  expect_refused(other([](Schedule& it) { it.rates.clear(); }), "number of rates = 0");
  expect_refused(other([](Schedule& it) { it.rates.resize(max_rates + 1); }), "number of rates = 1000001");
  expect_refused(other([](Schedule& it) { it.rates[1] = -1; }), "rates = -1");
  expect_refused(other([&](Schedule& it) { it.rates[1] = infinite; }), "rates = inf");
  expect_refused(other([](Schedule& it) { it.step_epochs = 0; }), "step_epochs");
  expect_refused(other([](Schedule& it) { it.warmup = 0.1; }), "warmup");
  EXPECT_NO_THROW(validate(Schedule{}));
  EXPECT_NO_THROW(validate(Schedule{.kind = Kind::step, .warmup = 0.1}));
  EXPECT_NO_THROW(validate(Schedule{.kind = Kind::cosine, .epochs = 0.5}));
}

}  // namespace
}  // namespace steelyard::nn::schedule_test
