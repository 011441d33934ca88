// Every policy under every sync mode in virtual time. The lists are the registries, so a new policy or mode
// is included automatically. The same in a cluster of threads: tests/hosts/every_combination_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>

#include "core/error.h"
#include "sim/simulation.h"
#include "tests/sim/made_scenarios.h"
#include "tests/support/sync_modes.h"

namespace steelyard::sim::every_policy_and_mode_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two epochs of five batches of 96 and a short one.
Scenario short_scenario(const std::vector<std::vector<double>>& curves) {
  Scenario scenario = made(96, curves);
  scenario.rounds = 0;
  scenario.epochs = 2;
  scenario.samples_per_epoch = 5 * 96 + 20;
  return scenario;
}

Scenario equal_workers() { return short_scenario({{0, 1}, {0, 1}, {0, 1}}); }

// One worker is a CPU, and another is slowed down for three rounds.
Scenario unequal_workers() {
  Scenario scenario = short_scenario({{2, 1}, {1, 2}, {5, 4}});
  scenario.network.step_ms = 5;
  for (Device& device : scenario.workers) device.noise = 0.1;
  scenario.workers[2].kind = DeviceKind::cpu;
  scenario.events.push_back(on(0, 4, 7));
  scenario.events.back().scale = 3;
  return scenario;
}

// Shares are whole grains, one worker holds little, and one joins later.
Scenario limited_workers() {
  Scenario scenario = short_scenario({{2, 1}, {1, 2}, {0, 1}, {3, 1}});
  scenario.grain = 4;
  scenario.workers[1].max_batch = 16;
  scenario.events.push_back(on(3, 3, UINT64_MAX));
  scenario.events.back().join = true;
  return scenario;
}

// The simulation itself fails if a position is not counted exactly once, except in the modes that
// sim/invariants_watch.h names.
void expect_whole_training(const Scenario& scenario, const Result& result) {
  std::uint64_t all = 0;
  for (const RoundResult& round : result.rounds) {
    EXPECT_EQ(std::accumulate(round.shares.begin(), round.shares.end(), std::uint64_t{0}), round.samples)
        << "round " << round.round;
    all += round.samples;
  }
  EXPECT_EQ(all, scenario.epochs * scenario.samples_per_epoch);
}

void try_all(const char* name, Scenario scenario) {
  std::size_t combinations = 0, refused = 0;
  for (const char* sync : test::sync_modes()) {
    for (const std::string& policy : simulated_policies()) {
      SCOPED_TRACE(std::string(name) + ": " + policy + ", " + sync);
      scenario.sync = sync, scenario.policy = policy;
      ++combinations;
      try {
        expect_whole_training(scenario, simulate(scenario, 1.0));
        EXPECT_TRUE(!parse_sync(sync).paced || policy == "orchestra") << "no other policy decides the rounds";
      } catch (const Failure& failure) {
        ++refused;
        EXPECT_TRUE(parse_sync(sync).paced && policy != "orchestra") << failure.what();
        EXPECT_THAT(failure.what(), AllOf(HasSubstr("policy \"" + policy + "\""), HasSubstr("sync = "),
                                          HasSubstr("choose policy = \"orchestra\"")));
      }
    }
  }
  std::printf("%s: %zu combinations, %zu of them refused\n", name, combinations, refused);
  EXPECT_EQ(refused, simulated_policies().size() - 1) << "only those of the mode orchestra";
}

TEST(EveryPolicyAndMode, TrainsWithEqualWorkers) { try_all("equal workers", equal_workers()); }
TEST(EveryPolicyAndMode, TrainsWithUnequalWorkers) { try_all("unequal workers", unequal_workers()); }
TEST(EveryPolicyAndMode, TrainsWithLimitedWorkers) { try_all("limited workers", limited_workers()); }

}  // namespace
}  // namespace steelyard::sim::every_policy_and_mode_test
