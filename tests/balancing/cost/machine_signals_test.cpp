#include "balancing/cost/machine_signals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace steelyard::balancing::machine_signals_test {
namespace {

// Signals after times proportional to 1 / CPU share and, with `memory_matters`, to 1 / sqrt(memory).
MachineSignals taught(bool memory_matters) {
  Random random(3);
  MachineSignals signals;
  Signals last{1, 8000};
  signals.start(last);
  for (int k = 0; k < 60; ++k) {
    const Signals now{0.2 + 0.8 * random.uniform(), 4000 + 8000 * random.uniform()};
    double growth = std::log(last.cpu / now.cpu) + 0.02 * random.normal();
    if (memory_matters) growth += std::log(last.memory / now.memory) / 2;
    signals.learn(growth, 0.02, now, now);
    last = now;
  }
  signals.learn(0, 0.02, last, last);
  return signals;
}

TEST(MachineSignals, PredictsNothingBeforeLearning) {
  MachineSignals signals;
  EXPECT_EQ(signals.foretold({0.5, 100}), 0);
  signals.start({1, 8000});
  EXPECT_EQ(signals.foretold({0.5, 100}), 0);
}

TEST(MachineSignals, LearnsBothGains) {
  const MachineSignals signals = taught(true);
  const double load = signals.foretold({0.25, -1}) - signals.foretold({0.5, -1});
  EXPECT_NEAR(load, std::log(2.0), 0.05);
  const double pressure = signals.foretold({-1, 2000}) - signals.foretold({-1, 8000});
  EXPECT_NEAR(pressure, std::log(4.0) / 2, 0.15);  // less exact: the CPU share is fitted first
}

TEST(MachineSignals, IrrelevantMemoryPredictsNothing) {
  const MachineSignals signals = taught(false);
  EXPECT_NEAR(signals.foretold({-1, 2000}) - signals.foretold({-1, 8000}), 0, 0.05);
}

TEST(MachineSignals, MissingSignalsPredictNothing) {
  EXPECT_EQ(taught(true).foretold({}), 0);
  EXPECT_FALSE(taught(true).explain(1, {}));
}

// The load changes inside the rounds, so a reading before a round does not predict it. Regression to the mean
// remains: any reading is nearer to the next load than an extreme last one.
TEST(MachineSignals, LoadThatOnlyExplainsPredictsHalf) {
  Random random(4);
  MachineSignals signals;
  double last = 1;
  signals.start({last});
  for (int k = 0; k < 200; ++k) {
    const double before = 0.2 + 0.8 * random.uniform(), during = 0.2 + 0.8 * random.uniform();
    signals.learn(std::log(last / during), 0.02, {before}, {during});
    last = during;
  }
  signals.learn(std::log(last), 0.02, {1}, {1});
  EXPECT_NEAR(signals.explained({0.5}), std::log(2.0), 0.05);
  EXPECT_NEAR(signals.foretold({0.5}), std::log(2.0) / 2, 0.1);
}

// No gain has been learned: a gain of about 1 explains the growth.
TEST(MachineSignals, LoadExplainsAnEqualGrowthOfTime) {
  MachineSignals signals;
  signals.start({1, -1});
  EXPECT_TRUE(signals.explain(0.7, {0.5, -1}));
  EXPECT_FALSE(signals.explain(-0.7, {0.5, -1}));
  EXPECT_FALSE(signals.explain(0.7, {0.95, -1}));
}

}  // namespace
}  // namespace steelyard::balancing::machine_signals_test
