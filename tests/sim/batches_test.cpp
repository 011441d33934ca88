// Rounds of several global batches: events and random draws count batches, and the oracle knows each batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/batches.h"
#include "sim/scenario_run.h"
#include "sim/simulation.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::batches_test {
namespace {

using testing::ElementsAre;

// Two epochs of ten batches of 120 samples, computed by two workers that take 1 ms a sample.
Scenario two_epochs(const std::string& sync, const std::string& policy) {
  Scenario scenario = made(120, {{0, 1}, {0, 1}}, policy);
  scenario.sync = sync;
  scenario.rounds = 20;
  scenario.epochs = 2;
  scenario.samples_per_epoch = 10 * scenario.global_batch;
  return scenario;
}

Event slow(Round from, Round to) {
  Event event = on(1, from, to);
  event.scale = 3;
  return event;
}

// Half of the batches are slow on one worker: 10 batches cost it 5 x 1 + 5 x 3 ms a sample, the other 10 x 1.
// The best split of a batch is 40 and 80.
TEST(Batches, TheOracleSeesAllBatchesOfALongRound) {
  for (const char* sync : {"local:10", "oneshot:epoch", "oneshot:end"}) {
    Scenario scenario = two_epochs(sync, "oracle");
    scenario.events = {slow(5, 10), slow(15, 20)};
    const Result oracle = simulate(scenario, 1.0);
    EXPECT_EQ(oracle.rounds[0].shares[0], 2 * oracle.rounds[0].shares[1]) << sync;
    EXPECT_NEAR(oracle.total_s(), 20 * 0.080, 1e-3) << sync;
    scenario.policy = "equal";
    EXPECT_GT(simulate(scenario, 1.0).total_s(), 1.4 * oracle.total_s()) << sync;
  }
}

// An epoch has rounds of 4, 4 and 2 batches; the event covers the third round of the first epoch and the
// first round of the second.
TEST(Batches, RoundsOfLocalStepsDoNotSpanEpochs) {
  Scenario scenario = two_epochs("local:4", "oracle");
  scenario.events = {slow(8, 14)};
  const Result oracle = simulate(scenario, 1.0);
  ASSERT_EQ(oracle.rounds.size(), 6U);
  EXPECT_THAT(oracle.rounds[1].shares, ElementsAre(240, 240));
  EXPECT_THAT(oracle.rounds[2].shares, ElementsAre(180, 60));
  EXPECT_THAT(oracle.rounds[3].shares, ElementsAre(360, 120));
  EXPECT_THAT(oracle.rounds[4].shares, ElementsAre(240, 240));
  EXPECT_NEAR(oracle.rounds[3].round_ms, 360, 1e-6);
}

TEST(Batches, UnderBspARoundIsABatch) {
  Scenario scenario = two_epochs("bsp", "oracle");
  scenario.events = {slow(12, 13)};
  const Result oracle = simulate(scenario, 1.0);
  ASSERT_EQ(oracle.rounds.size(), 20U);
  EXPECT_THAT(oracle.rounds[11].shares, ElementsAre(60, 60));
  EXPECT_THAT(oracle.rounds[12].shares, ElementsAre(90, 30));
  EXPECT_THAT(oracle.rounds[13].shares, ElementsAre(60, 60));
}

// Rounds never span epochs: the last round of an epoch has the remaining batches.
TEST(Batches, RangesMatchTheRoundsOfTheScheduler) {
  Scenario scenario = two_epochs("bsp", "equal");
  const Devices devices(scenario, 1);
  const auto batches_of = [&](const char* sync, Round round) {
    scenario.sync = sync;
    const Batches::Range range = Batches(job_of(scenario, false, false), devices, 20).of(round);
    return std::pair(range.first, range.count);
  };
  EXPECT_EQ(batches_of("bsp", 7), std::pair(Round{7}, std::uint64_t{1}));
  EXPECT_EQ(batches_of("local:4", 1), std::pair(Round{4}, std::uint64_t{4}));
  EXPECT_EQ(batches_of("local:4", 2), std::pair(Round{8}, std::uint64_t{2}));
  EXPECT_EQ(batches_of("local:4", 3), std::pair(Round{10}, std::uint64_t{4}))
      << "the first round of the second epoch";
  EXPECT_EQ(batches_of("local:100", 1), std::pair(Round{10}, std::uint64_t{10}));
  EXPECT_EQ(batches_of("oneshot:epoch", 1), std::pair(Round{10}, std::uint64_t{10}));
  EXPECT_EQ(batches_of("oneshot:end", 0), std::pair(Round{0}, std::uint64_t{20}));
}

}  // namespace
}  // namespace steelyard::sim::batches_test
