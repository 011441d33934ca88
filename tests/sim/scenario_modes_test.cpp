// The sync modes under virtual time: each mode processes the same samples, every position counts once (the
// probe checks it), and times match those computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "balancing/policies.h"
#include "core/error.h"
#include "sim/simulation.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::modes_test {
namespace {

Result under(const std::string& sync, Scenario scenario) {
  scenario.sync = sync;
  return simulate(scenario, 1.0);
}

std::uint64_t samples(const Result& result) {
  std::uint64_t sum = 0;
  for (const RoundResult& round : result.rounds) {
    for (const std::uint64_t share : round.shares) sum += share;
  }
  return sum;
}

// Two workers, one of them twice as fast, with equal shares: bsp waits 120 ms a round for the slow one.
TEST(SimulatedModes, SlackDoesNotHideAConstantSpeedDifference) {
  const Scenario scenario = made(120, {{0, 1}, {0, 2}});
  EXPECT_NEAR(under("bsp", scenario).total_s(), 1.2, 1e-3);
  EXPECT_EQ(under("ssp:0", scenario).total_s(), under("bsp", scenario).total_s());
  EXPECT_NEAR(under("ssp:3", scenario).total_s(), 1.2, 0.01) << "the slow worker is never idle";
}

// A piece queued behind another piece of its worker does not wait for parameters, so no worker has to rest.
TEST(SimulatedModes, QueuedPiecesDoNotCountAsExchange) {
  Scenario scenario = made(120, {{2, 1}, {2, 4}}, "steelyard");
  scenario.rounds = 100;
  scenario.samples_per_epoch = 120 * scenario.rounds;
  for (const char* sync : {"bsp", "ssp:1", "ssp:8"}) {
    scenario.sync = sync;
    EXPECT_GT(simulate(scenario).percent_of_ideal(), 93) << sync;
  }
}

// An idle worker takes the next piece: together the two compute 1.5 samples a millisecond.
TEST(SimulatedModes, AspKeepsAllWorkersBusy) {
  const Result result = under("asp", made(120, {{0, 1}, {0, 2}}));
  EXPECT_LT(result.total_s(), 0.9);
  EXPECT_EQ(samples(result), 1200U);
}

// Shares of 60 take 60 and 120 ms. The first round is measured; then the fast worker has two pieces in each
// round of 120 ms, so the remaining 1080 samples take six rounds.
TEST(SimulatedModes, ElasticBspPlacesTheBarrierWhereWorkersWaitLeast) {
  Scenario scenario = made(120, {{0, 1}, {0, 2}});
  EXPECT_NEAR(under("elastic-bsp:1", scenario).total_s(), under("bsp", scenario).total_s(), 1e-3);
  const Result result = under("elastic-bsp:4", scenario);
  ASSERT_EQ(result.rounds.size(), 7U);
  EXPECT_THAT(result.rounds[0].shares, testing::ElementsAre(60, 60));
  for (std::size_t round = 1; round < 7; ++round)
    EXPECT_THAT(result.rounds[round].shares, testing::ElementsAre(120, 60)) << round;
  EXPECT_NEAR(result.total_s(), 7 * 0.12, 1e-3);
  EXPECT_EQ(samples(result), 1200U);
}

// Five of ten rounds wait for the slow worker, 120 ms each; the others keep both workers busy.
TEST(SimulatedModes, SyncSwitchWaitsOnlyBeforeTheSwitch) {
  const Scenario scenario = made(120, {{0, 1}, {0, 2}});
  const Result result = under("sync-switch:50", scenario);
  EXPECT_EQ(samples(result), 1200U);
  EXPECT_NEAR(result.rounds.at(4).round_ms, 120, 1);
  EXPECT_LT(result.total_s(), 5 * 0.12 + 0.5);
  EXPECT_GT(result.total_s(), under("asp", scenario).total_s() + 0.1);
}

// Two equal workers push at the same times: the second push always meets a slice that the first has updated.
TEST(SimulatedModes, StalenessIsCountedPerPush) {
  const Scenario scenario = made(120, {{0, 1}, {0, 1}});
  EXPECT_TRUE(under("bsp", scenario).staleness.empty());
  const Staleness late = under("asp", scenario).staleness;
  EXPECT_EQ(std::accumulate(late.begin(), late.end(), std::uint64_t{0}), 20U) << "two pieces a round";
  ASSERT_GE(late.size(), 2U);
  EXPECT_GT(late[1], 8U);
}

TEST(SimulatedModes, LocalStepsSaveExchanges) {
  Scenario scenario = made(120, {{0, 1}, {0, 1}});
  scenario.network.step_ms = 40;
  EXPECT_NEAR(under("bsp", scenario).total_s(), 10 * 0.100, 1e-3);
  const Result five = under("local:5", scenario);
  EXPECT_EQ(five.rounds.size(), 2U);
  EXPECT_NEAR(five.total_s(), 10 * 0.060 + 2 * 0.040, 1e-3);
  EXPECT_NEAR(under("oneshot:epoch", scenario).total_s(), 10 * 0.060 + 0.040, 1e-3);
}

// Balanced DiLoCo (Douillard et al. 2023, with steps proportional to speed): four devices that take 0.58,
// 0.75, 1.51 and 3.33 s a step; H = 64.
Scenario four_devices(const std::string& policy) {
  const double per_sample = 1000.0 / 128;
  Scenario scenario = made(
      512, {{0, 0.58 * per_sample}, {0, 0.75 * per_sample}, {0, 1.51 * per_sample}, {0, 3.33 * per_sample}},
      policy);
  scenario.rounds = 2 * 64;
  scenario.samples_per_epoch = scenario.rounds * scenario.global_batch;
  return scenario;
}

TEST(SimulatedModes, BalancedStepsAreProportionalToSpeed) {
  const Result equal = under("local:64", four_devices("equal"));
  EXPECT_NEAR(equal.rounds.at(0).round_ms, 213'100, 50);
  for (const char* policy : {"static", "oracle"}) {
    const Result balanced = under("diloco:64", four_devices(policy));
    ASSERT_EQ(balanced.rounds.size(), 2U);
    EXPECT_THAT(balanced.rounds[0].shares, testing::ElementsAre(110 * 128, 85 * 128, 42 * 128, 19 * 128));
    EXPECT_NEAR(balanced.rounds[0].round_ms, 63'800, 50) << policy;
    const double ideal_ms = 256'000 / (1 / 0.58 + 1 / 0.75 + 1 / 1.51 + 1 / 3.33);
    EXPECT_NEAR(100 * ideal_ms / balanced.rounds[0].round_ms, 99.8, 0.05);
  }
}

// The pieces that the first device owes are split among the others in whole batches, 64 + 32 + 14. The others
// compute them after their own.
TEST(SimulatedModes, ADeadWorkersPiecesAreSplitInWholeBatches) {
  Scenario scenario = four_devices("static");
  scenario.events.push_back(on(0, 64, UINT64_MAX));
  scenario.events.back().kill = true;
  const Result balanced = under("diloco:64", scenario);
  EXPECT_THAT(balanced.rounds.at(1).shares,
              testing::ElementsAre(0, (85 + 64) * 128, (42 + 32) * 128, (19 + 14) * 128));
  EXPECT_NEAR(balanced.rounds[1].round_ms, 111'800, 60);
}

// Encoded pushes and pulls take time in proportion to their bytes. The first pull is not encoded, because
// there is no earlier version to add to; it precedes the first round.
TEST(SimulatedModes, LinksTransferEncodedBytes) {
  Scenario scenario = made(120, {{0, 1}, {0, 1}});
  scenario.network = {.latency_ms = 20, .bandwidth_gbps = 0.01, .model_mb = 0.25};  // 200 ms a transfer
  const double whole_s = 0.060 + 2 * 0.200 + 2 * 0.020;
  EXPECT_NEAR(under("bsp", scenario).rounds.at(5).round_ms, 1000 * whole_s, 1);
  scenario.network.push_encoding = FloatCode::int4;
  EXPECT_NEAR(under("bsp", scenario).rounds.at(5).round_ms, 1000 * (whole_s - 0.200) + 200 * 4.125 / 32, 1);
  scenario.network.pull_encoding = FloatCode::int8;
  EXPECT_NEAR(under("bsp", scenario).rounds.at(5).round_ms,
              1000 * (whole_s - 0.400) + 200 * (4.125 + 8.125) / 32, 1);
  EXPECT_THROW(under("ssp:2", scenario), Failure);
}

// As in jobs: with a barrier each round is one update, without a barrier each worker's push is one.
TEST(SimulatedModes, UpdatesAreCountedAsInJobs) {
  const Scenario scenario = made(120, {{0, 1}, {0, 2}, {0, 2}});
  EXPECT_EQ(under("bsp", scenario).updates, 10U);
  EXPECT_EQ(under("local:5", scenario).updates, 2U);
  EXPECT_EQ(under("oneshot:epoch", scenario).updates, 1U);
  EXPECT_EQ(under("ssp:2", scenario).updates, 30U);
  for (const char* sync : {"ssp:2", "asp"}) {
    const Result result = under(sync, scenario);
    std::uint64_t pieces = 0;
    for (const RoundResult& round : result.rounds) {
      for (const std::uint64_t share : round.shares) pieces += share > 0 ? 1 : 0;
    }
    EXPECT_EQ(result.updates, pieces) << sync;
  }
}

// The ideal is the same for all modes: the oracle with a barrier in every round.
TEST(SimulatedModes, AllModesAreComparedWithTheBspOracle) {
  Scenario scenario = made(120, {{0, 1}, {0, 2}});
  scenario.network.step_ms = 20;
  for (const char* sync :
       {"bsp", "flexrr", "ssp:2", "asp", "local:5", "oneshot:epoch", "oneshot:end", "diloco:5"}) {
    scenario.sync = sync;
    EXPECT_NEAR(simulate(scenario).ideal_s, 10 * 0.100, 1e-6) << sync;
    scenario.policy = "oracle";
    EXPECT_NEAR(simulate(scenario).ideal_s, 10 * 0.100, 1e-6) << sync;
    scenario.policy = "equal";
  }
}

std::uint64_t quiet_samples(const std::string& sync, Scenario scenario) {
  scenario.events.clear();
  return samples(under(sync, scenario));
}

// Two runs with events of all kinds give the same text. The probe fails if a position is not counted exactly
// once, except for pieces of equal weights. Records may contain fewer samples: a killed worker may have
// pushed a piece that it never reported.
TEST(SimulatedModes, TheSameSeedGivesTheSameText) {
  for (const char* sync : {"bsp",
                           "flexrr",
                           "ssp:2",
                           "asp",
                           "dc-asgd",
                           "dc-asgd:adaptive",
                           "dynsgd",
                           "sync-switch:30",
                           "elastic-bsp:4",
                           "nsoft:2",
                           "ksoft:2",
                           "eager",
                           "ksoft-wait:2",
                           "ksoft-wait:4",
                           "ksoft-wait:3:first",
                           "local:4",
                           "local:4:equal",
                           "oneshot:epoch",
                           "oneshot:epoch:equal",
                           "oneshot:end",
                           "oneshot:end:equal",
                           "diloco:4",
                           "mll:4:2:2"}) {
    Scenario scenario = lbb_table_2("steelyard");
    scenario.rounds = 40;
    scenario.epochs = 2;
    scenario.samples_per_epoch = 20 * scenario.global_batch;
    for (Device& device : scenario.workers) device.noise = 0.1;
    scenario.events.push_back(on(0, 5, 15));
    scenario.events.back().kill = true;
    scenario.events.push_back(on(3, 24, UINT64_MAX));
    scenario.events.back().join = true;
    scenario.events.push_back(on(1, 8, 9));
    scenario.events.back().cut = true;
    scenario.events.push_back(on(2, 10, 30));
    scenario.events.back().scale = 2;
    const Result once = under(sync, scenario);
    EXPECT_EQ(to_json(once), to_json(under(sync, scenario))) << sync;
    EXPECT_LE(samples(once), 2 * scenario.samples_per_epoch) << sync;
    EXPECT_EQ(quiet_samples(sync, scenario), 2 * scenario.samples_per_epoch) << sync;
  }
}

// Shares change from round to round, and with them the weight of each hub in the average. The probe tracks
// the weights and fails if a position is not counted exactly once.
TEST(SimulatedModes, HubsCountEveryPositionOnceUnderEveryPolicy) {
  for (const std::string& policy : balancing::policy_names()) {
    for (const char* sync : {"mll:4:1:2", "mll:4:3:2", "mll:2:2:3:line", "mll:3:5:4:ring"}) {
      Scenario scenario = lbb_table_2(policy);
      scenario.rounds = 60;
      scenario.samples_per_epoch = 20 * scenario.global_batch + 100;
      for (Device& device : scenario.workers) device.noise = 0.1;
      scenario.events.push_back(on(2, 10, 30));
      scenario.events.back().scale = 3;
      const Result quiet = under(sync, scenario);
      EXPECT_GT(samples(quiet), 0U);
      scenario.events.push_back(on(0, 5, 15));
      scenario.events.back().kill = true;
      scenario.events.push_back(on(1, 8, 9));
      scenario.events.back().cut = true;
      EXPECT_LE(samples(under(sync, scenario)), samples(quiet)) << policy << ", " << sync;
    }
  }
}

// Orchestra, t = (2, 3) ms a mini-batch of 60: T = 6 ms, tau = (3, 2). A simulation without training has no
// accuracy, so T stays. 1200 samples are 20 mini-batches: the first epoch has two rounds of 2 with equal
// shares, three of 5 and one of 1; later epochs have four rounds.
TEST(SimulatedModes, OrchestraChoosesRoundLengths) {
  Scenario scenario = made(120, {{0, 2.0 / 60}, {0, 3.0 / 60}}, "orchestra");
  scenario.rounds = 0;
  scenario.epochs = 3;
  const Result result = under("orchestra", scenario);
  ASSERT_EQ(result.rounds.size(), 6 + 4 + 4U);
  EXPECT_THAT(result.rounds[0].shares, testing::ElementsAre(60, 60));
  for (const std::size_t round : {2U, 3U, 4U, 6U, 9U, 13U}) {
    EXPECT_THAT(result.rounds[round].shares, testing::ElementsAre(180, 120)) << round;
    EXPECT_NEAR(result.rounds[round].round_ms, 6, 0.01) << round;
  }
  EXPECT_EQ(samples(result), 3 * 1200U);
}

TEST(SimulatedModes, OrchestraNeedsAPacingPolicyAndWholeEpochs) {
  const auto refusal = [](const Scenario& scenario) -> std::string {
    try {
      (void)under("orchestra", scenario);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  };
  for (const char* policy : {"equal", "oracle"})
    EXPECT_THAT(refusal(made(120, {{0, 1}, {0, 2}}, policy)), testing::HasSubstr("policy = \"orchestra\""));
  Scenario half = made(120, {{0, 1}, {0, 2}}, "orchestra");
  EXPECT_EQ(refusal(half), "") << "the rounds are exactly one epoch";
  half.rounds = 5;
  EXPECT_THAT(refusal(half), testing::HasSubstr("job.epochs in place of job.rounds"));
}

}  // namespace
}  // namespace steelyard::sim::modes_test
