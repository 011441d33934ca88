// Staleness as published for asynchronous training: the number of updates of a slice between a worker's pull
// and its push.
#include <gtest/gtest.h>

#include "sim/simulation.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::staleness_test {
namespace {

Staleness staleness(const std::string& sync, const std::vector<double>& ms_per_sample, double noise = 0) {
  std::vector<std::vector<double>> curves;
  for (const double ms : ms_per_sample) curves.push_back({0, ms});
  Scenario scenario = made(120, curves);
  for (Device& device : scenario.workers) device.noise = noise;
  scenario.rounds = 400;
  scenario.samples_per_epoch = 120 * scenario.rounds;
  scenario.network.step_ms = 0.1;
  scenario.sync = sync;
  return simulate(scenario, 1.0).staleness;
}

double mean_of(const Staleness& late) {
  double pushes = 0, sum = 0;
  for (std::size_t i = 0; i < late.size(); ++i) {
    pushes += static_cast<double>(late[i]), sum += static_cast<double>(i * late[i]);
  }
  return sum / pushes;
}

std::size_t longest(const Staleness& late) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (late[i] > 0) most = i;
  }
  return most;
}

// Asynchronous SGD (Keuper, Pfreundt 2015; Zhang et al., IJCAI 2016): on average, each of the n - 1 other
// workers updates a slice once between a worker's pull and push.
TEST(Staleness, MeanStalenessUnderAspIsTheNumberOfOtherWorkers) {
  for (const std::size_t n : {2, 4, 8}) {
    const double others = static_cast<double>(n) - 1;
    EXPECT_NEAR(mean_of(staleness("asp", std::vector<double>(n, 1), 0.1)) / others, 1, 0.05) << n;
  }
}

// SSP (Ho et al., NIPS 2013), rules 2 and 3: a worker at step c has all updates of the others up to step
// c - s - 1, and the others reach step c + s at most. So the staleness of a push is at most 2 s + 1 steps of
// each other worker; without a bound, the slow worker here misses 30 steps of the quick one. The authors of
// LB-BSP compare with s = 5 (R2SP, INFOCOM 2019).
TEST(Staleness, SlackBoundsStalenessUnderSsp) {
  const std::vector<double> unequal{0.1, 3};
  EXPECT_GT(longest(staleness("asp", unequal)), 20U);
  for (const std::size_t slack : {1, 2, 5}) {
    const Staleness late = staleness("ssp:" + std::to_string(slack), unequal);
    EXPECT_LE(longest(late), 2 * slack + 1) << slack;
    EXPECT_GE(longest(late), slack) << slack << ": the slack is used";
  }
}

}  // namespace
}  // namespace steelyard::sim::staleness_test
