#include "sim/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "balancing/allocate/min_max.h"
#include "core/error.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::simulation_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// LBB, Table 2: equal shares take 392.92 ms, a straggler effect of 1.94.
TEST(Simulation, EqualSharesReproduceLbbTable2) {
  const Result result = simulate(lbb_table_2("equal"));
  for (const RoundResult& round : result.rounds) {
    EXPECT_THAT(round.shares, ElementsAre(128, 128, 128, 128));
    EXPECT_NEAR(round.round_ms, 392.92 + 95, 0.01);
    EXPECT_NEAR(round.se, 1.94, 0.005);
  }
}

// LBB, Table 2, balanced: the exact integer optimum on its two-point lines takes 104.41 ms.
TEST(Simulation, TheOracleFindsTheOptimumOfLbbTable2) {
  const Result result = simulate(lbb_table_2("oracle"));
  EXPECT_THAT(result.last_full().shares, ElementsAre(166, 167, 159, 20));
  EXPECT_NEAR(result.last_full().round_ms, 104.41 + 95, 0.01);
  EXPECT_NEAR(result.last_full().se, 0.0033, 0.0002);
  EXPECT_DOUBLE_EQ(result.percent_of_ideal(), 100);
}

// LBB, Table 2: from 128 samples each to the optimum within ten rounds.
TEST(Simulation, LbbBalancesLbbTable2InTenRounds) {
  const Result result = simulate(lbb_table_2("lbb"));
  const RoundResult& tenth = result.rounds.at(9);
  EXPECT_NEAR(result.rounds.front().se, 1.94, 0.005);
  EXPECT_LE(tenth.se, 0.05);
  EXPECT_LE(tenth.round_ms, 106.0 + 95);
  const std::vector<std::uint64_t> paper{166, 167, 159, 20};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(tenth.shares[i]), static_cast<double>(paper[i]), 2) << i;
  }
}

// Grains of 32 in rounds of 2048; the last round of an epoch has 1000 samples. The ideal counts in grains
// too, so grains do not lower the percent of ideal by much.
TEST(Simulation, EveryPolicyDividesRoundsIntoGrains) {
  for (const std::string& policy : simulated_policies()) {
    Scenario scenario = lbb_table_2(policy);
    scenario.global_batch = 2048;
    scenario.grain = 32;
    scenario.rounds = 101;
    scenario.samples_per_epoch = 20 * 2048 + 1000;
    for (Device& device : scenario.workers) device.noise = 0.02;
    scenario.events.push_back(on(1, 30, 50));
    scenario.events.back().kill = true;
    const Result result = simulate(scenario);
    for (const RoundResult& round : result.rounds) {
      const auto broken = std::ranges::count_if(round.shares, [](std::uint64_t it) { return it % 32 > 0; });
      EXPECT_LE(broken, round.samples % 32 > 0 || round.round == 30 ? 1 : 0)
          << policy << ", round " << round.round;
    }
    Scenario of_samples = scenario;
    of_samples.grain = 1;
    EXPECT_GE(result.percent_of_ideal(), simulate(of_samples).percent_of_ideal() - 2) << policy;
  }
}

// Two grains for three workers: one worker rests in every round.
TEST(Simulation, SomeWorkersRestIfGrainsAreTooFew) {
  for (const std::string& policy : simulated_policies()) {
    Scenario scenario = made(64, {{1, 1}, {1, 1}, {1, 1}}, policy);
    scenario.grain = 32;
    const Result result = simulate(scenario);
    for (const RoundResult& round : result.rounds)
      EXPECT_EQ(std::ranges::count(round.shares, 0U), 1) << policy << ", round " << round.round;
    EXPECT_NEAR(result.percent_of_ideal(), 100, 1e-6) << policy;
  }
}

TEST(Simulation, GrainsMustDivideTheBatchAndFitMaxBatch) {
  const auto refusal = [](std::uint64_t batch, std::uint64_t max_batch) -> std::string {
    Scenario scenario = made(batch, {{0, 1}, {0, 2}});
    scenario.grain = 32;
    scenario.workers[1].max_batch = max_batch;
    try {
      check_scenario(scenario);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(64, 32), "");
  EXPECT_THAT(refusal(65, 0), HasSubstr("global_batch of 65 is not a whole number of grains of 32"));
  EXPECT_THAT(refusal(64, 31), HasSubstr("worker 'b': max_batch = 31 is less than one grain of 32"));
}

TEST(Simulation, PercentOfIdealMatchesTheClosedFormWithoutNoise) {
  // Speeds 2:1, no fixed costs: equal takes 2 x 60 ms, the best split 2 x 40 ms.
  const Result result = simulate(made(120, {{0, 1}, {0, 2}}));
  EXPECT_NEAR(result.total_s(), 10 * 0.120, 1e-6);
  EXPECT_NEAR(result.ideal_s, 10 * 0.080, 1e-6);
  EXPECT_NEAR(result.percent_of_ideal(), 100 * 80.0 / 120, 1e-4);
}

// Two runs of every policy of scenarios, with events of many kinds, give the same text.
TEST(Simulation, TheSameSeedGivesTheSameText) {
  for (const std::string& policy : simulated_policies()) {
    Scenario scenario = lbb_table_2(policy);
    scenario.rounds = 60;
    scenario.samples_per_epoch = 5000;
    for (Device& device : scenario.workers) device.noise = 0.05;
    scenario.events.push_back(on(0, 5, 15));
    scenario.events.back().kill = true;
    scenario.events.push_back(on(1, 8, 30));
    scenario.events.back().add_ms = 50;
    scenario.events.push_back(on(2, 0, UINT64_MAX));
    scenario.events.back().shape = Shape::random_walk;
    scenario.events.back().deviation = 0.05;
    scenario.events.push_back(on(1, 20, 21));
    scenario.events.back().cut = true;
    const std::string text = to_json(simulate(scenario));
    EXPECT_EQ(text, to_json(simulate(scenario))) << policy;
    scenario.seed = 2;
    EXPECT_NE(text, to_json(simulate(scenario))) << policy;
  }
}

// Random draws depend on worker and round only: the noise is the same for any shares.
TEST(Simulation, AllPoliciesGetTheSameDraws) {
  Scenario scenario = made(100, {{0, 1}, {0, 3}});
  for (Device& device : scenario.workers) device.noise = 0.2;
  const Result equal = simulate(scenario);
  scenario.policy = "static";
  const Result profiled = simulate(scenario);
  EXPECT_THAT(profiled.last_full().shares, ElementsAre(75, 25)) << "static knows the curves of the scenario";
  for (std::size_t k = 0; k < equal.rounds.size(); ++k) {
    EXPECT_NEAR(equal.rounds[k].compute_ms[0] / 50, profiled.rounds[k].compute_ms[0] / 75, 1e-9) << k;
  }
  EXPECT_DOUBLE_EQ(equal.ideal_s, profiled.ideal_s);
}

TEST(Simulation, TheOracleLeavesOutWorkersThatDelayTheRound) {
  const Result result = simulate(made(100, {{5, 0.5}, {5, 0.7}, {300, 0.5}}, "oracle"));
  EXPECT_EQ(result.last_full().shares[2], 0U);
}

// Exchange times that differ between workers count as part of a worker's time.
TEST(Simulation, TheOracleCountsTheExchange) {
  Scenario scenario = made(100, {{0, 1}, {0, 1}}, "oracle");
  scenario.network.step_ms = 10;
  scenario.events.push_back(on(1, 0, UINT64_MAX));
  scenario.events.back().network = 3;
  EXPECT_THAT(simulate(scenario).last_full().shares, ElementsAre(60, 40));
}

TEST(Simulation, TheBestSingleDeviceFinishesFirst) {
  Scenario scenario = made(100, {{50, 1}, {0, 1.2}, {0, 0.1}});
  scenario.network.step_ms = 7;
  scenario.events.push_back(on(2, 3, 5));
  scenario.events.back().kill = true;  // absent in some rounds
  ASSERT_EQ(best_single_device(scenario), 1U);
  EXPECT_NEAR(alone_seconds(scenario, 1), 10 * 0.127, 1e-6);
  scenario.workers[1].max_batch = 10;
  scenario.workers[1].time_ms = {40, 1.2};
  EXPECT_EQ(best_single_device(scenario), 0U) << "ten batches have ten fixed costs";
}

// 40 ms up to 40 samples, then 1 ms each: the nearest line has a fixed cost and a smaller slope.
TEST(Simulation, TheProfileOfAFlatCurveIsTheNearestLine) {
  Scenario scenario = made(100, {{0, 1}});
  EXPECT_EQ(profile_of(scenario), "a: 0 1");
  scenario.workers[0].flat_ms = 40;
  double fixed = 0, slope = 0;
  ASSERT_EQ(std::sscanf(profile_of(scenario).c_str(), "a: %lf %lf", &fixed, &slope), 2);
  EXPECT_NEAR(fixed, 24, 2);
  EXPECT_NEAR(slope, 0.7, 0.05);
}

TEST(Simulation, UnknownPoliciesAndOptionsAreRefused) {
  const auto trouble = [](const Scenario& scenario) -> std::string {
    try {
      simulate(scenario);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return {};
  };
  EXPECT_THAT(trouble(made(10, {{1, 1}}, "guess")),
              testing::AllOf(HasSubstr("'guess'"), HasSubstr("equal, ")));
  Scenario scenario = made(10, {{1, 1}}, "equal");
  scenario.policy_options["equal"]["speed"] = "3";
  EXPECT_THAT(trouble(scenario), HasSubstr("speed"));
}

}  // namespace
}  // namespace steelyard::sim::simulation_test
