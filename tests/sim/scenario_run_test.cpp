// Simulated runs: times of rounds, lost workers, broken connections, and reports.
#include "sim/scenario_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "balancing/policies.h"
#include "core/error.h"
#include "core/random.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::scenario_run_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

ScenarioRun::MakePolicy policy(const std::string& name) {
  return [name](const balancing::TrueCurves&) { return balancing::make_policy(name); };
}
std::vector<RoundResult> rounds_of(const Scenario& scenario, const std::string& name = "equal") {
  ScenarioRun world(scenario, policy(name), {ScenarioRun::Checks::steps, {}});
  world.run();
  return world.results().rounds();
}
std::uint64_t total(const RoundResult& round) {
  return std::accumulate(round.shares.begin(), round.shares.end(), std::uint64_t{0});
}

TEST(ScenarioRun, ARoundTakesItsLongestComputeAndTheExchange) {
  Scenario scenario = made(100, {{10, 1}, {20, 2}});
  scenario.network.step_ms = 30;
  scenario.servers = 3;
  const auto rounds = rounds_of(scenario);
  ASSERT_EQ(rounds.size(), 10U);
  for (const RoundResult& round : rounds) {
    EXPECT_THAT(round.shares, ElementsAre(50, 50));
    EXPECT_NEAR(round.compute_ms[0], 60, 1e-5);
    EXPECT_NEAR(round.compute_ms[1], 120, 1e-5);
    EXPECT_NEAR(round.round_ms, 150, 1e-5);
    EXPECT_NEAR(round.se, 60.0 / 90, 1e-9);
  }
}

// 20 MB at 8 Gbit/s take 20 ms in each direction. The first round also waits for the first parameters.
TEST(ScenarioRun, LinksAddTransferTimesAndLatencies) {
  Scenario scenario = made(100, {{10, 1}, {20, 2}});
  scenario.network = {.latency_ms = 3, .bandwidth_gbps = 8, .model_mb = 20};
  const auto rounds = rounds_of(scenario);
  for (std::size_t k = 1; k < rounds.size(); ++k) EXPECT_NEAR(rounds[k].round_ms, 120 + 46, 1e-5) << k;
  EXPECT_GT(rounds[0].round_ms, 120);
}

TEST(ScenarioRun, TheLastRoundOfAnEpochIsShort) {
  Scenario scenario = made(100, {{10, 1}, {10, 1}});
  scenario.rounds = 0;
  scenario.epochs = 2;
  scenario.samples_per_epoch = 250;
  const auto rounds = rounds_of(scenario);
  std::vector<std::uint64_t> lengths, epochs;
  for (const RoundResult& round : rounds) {
    lengths.push_back(total(round));
    epochs.push_back(round.epoch);
  }
  EXPECT_THAT(lengths, ElementsAre(100, 100, 50, 100, 100, 50));
  EXPECT_THAT(epochs, ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(ScenarioRun, OthersComputeAKilledWorkersShareInTheSameRound) {
  Scenario scenario = made(90, {{10, 1}, {10, 1}, {10, 1}});
  scenario.network.step_ms = 5;
  scenario.events.push_back(on(1, 4, UINT64_MAX));
  scenario.events.back().kill = true;
  ScenarioRun world(scenario, policy("equal"), {ScenarioRun::Checks::steps, {}});
  world.run();
  const auto& rounds = world.results().rounds();
  ASSERT_EQ(rounds.size(), 10U);
  EXPECT_THAT(rounds[3].shares, ElementsAre(30, 30, 30));
  EXPECT_THAT(rounds[4].shares, ElementsAre(45, 0, 45))
      << "the lost share is divided among the remaining workers";
  EXPECT_NEAR(rounds[4].compute_ms[0], 40 + 25, 1e-5) << "as a second piece";
  EXPECT_THAT(rounds[5].shares, ElementsAre(45, 0, 45));
  EXPECT_NEAR(rounds[5].compute_ms[0], 55, 1e-5);
  EXPECT_THAT(world.results().notes(), Contains(HasSubstr("'b' is lost")));
}

TEST(ScenarioRun, KilledWorkersMayReturnAndOthersMayJoin) {
  Scenario scenario = made(90, {{10, 1}, {10, 1}, {10, 1}});
  scenario.events.push_back(on(0, 2, 5));
  scenario.events.back().kill = true;
  scenario.events.push_back(on(2, 7, UINT64_MAX));
  scenario.events.back().join = true;
  const auto rounds = rounds_of(scenario);
  EXPECT_THAT(rounds[1].shares, ElementsAre(45, 45, 0));
  EXPECT_THAT(rounds[4].shares, ElementsAre(0, 90, 0));
  EXPECT_THAT(rounds[5].shares, ElementsAre(45, 45, 0));
  EXPECT_THAT(rounds[6].shares, ElementsAre(45, 45, 0));
  EXPECT_THAT(rounds[7].shares, ElementsAre(30, 30, 30));
}

// Every round is complete despite all faults, and the probe of the shards finds no error.
TEST(ScenarioRun, BrokenConnectionsAndKillsLoseNoPositions) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Scenario scenario = made(97, {{10, 1}, {5, 2}, {1, 3}, {2, 2}});
    scenario.rounds = 40;
    scenario.samples_per_epoch = 1000;
    scenario.seed = seed;
    scenario.servers = 1 + static_cast<std::uint32_t>(random.below(3));
    scenario.network = {.step_ms = 20 * random.uniform(), .latency_ms = 5 * random.uniform()};
    for (Device& device : scenario.workers) device.noise = 0.3;
    for (int i = 0; i < 8; ++i) {
      const Round from = random.below(39);
      scenario.events.push_back(on(random.below(3), from, from + 1 + random.below(4)));
      (random.uniform() < 0.5 ? scenario.events.back().kill : scenario.events.back().cut) = true;
    }
    const auto rounds = rounds_of(scenario);
    ASSERT_EQ(rounds.size(), 40U) << "seed " << seed;
    for (const RoundResult& round : rounds) {
      const bool last_of_epoch = round.round % 11 == 10;
      EXPECT_EQ(total(round), last_of_epoch ? 1000U - 970U : 97U)
          << "seed " << seed << " round " << round.round;
    }
  }
}

TEST(ScenarioRun, ASingleWorkerComputesEverything) {
  Scenario scenario = made(90, {{10, 1}, {10, 2}});
  scenario.workers[1].max_batch = 40;
  ScenarioRun world(scenario, policy("equal"), {ScenarioRun::Checks::steps, 1});
  world.run();
  ASSERT_EQ(world.results().rounds().size(), 10U);
  EXPECT_THAT(world.results().rounds()[3].shares, ElementsAre(0, 90));
  EXPECT_NEAR(world.results().rounds()[3].compute_ms[1], 90 + 90 + 30, 1e-5)
      << "in three batches of at most 40";
}

TEST(ScenarioRun, FailsWhenNoWorkerIsLeft) {
  Scenario scenario = made(90, {{10, 1}});
  scenario.events.push_back(on(0, 4, UINT64_MAX));
  scenario.events.back().kill = true;
  ScenarioRun world(scenario, policy("equal"), {});
  try {
    world.run();
    FAIL() << "a job without workers did not fail";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), testing::AllOf(HasSubstr("round 4"), HasSubstr("no worker is left")));
  }
}

// Divides equally and records its inputs.
struct RecordingPolicy final : balancing::Policy {
  struct Seen {
    std::vector<balancing::Sample> samples;
    std::vector<balancing::Request> requests;
  };
  explicit RecordingPolicy(Seen& seen) : seen_(seen) {}
  void observe(const balancing::Sample& sample) override { seen_.samples.push_back(sample); }
  std::vector<std::uint64_t> plan(const balancing::Request& request) override {
    seen_.requests.push_back(request);
    return std::vector<std::uint64_t>(request.workers.size(), request.positions / request.workers.size());
  }
  [[nodiscard]] std::string save() const override { return {}; }
  void restore(const std::string&) override {}
  Seen& seen_;
};
RecordingPolicy::Seen recorded(const Scenario& scenario) {
  RecordingPolicy::Seen seen;
  ScenarioRun world(scenario, [&](const auto&) { return std::make_unique<RecordingPolicy>(seen); }, {});
  world.run();
  return seen;
}

// Reports of CPU workers contain the CPU share that a co-tenant leaves.
TEST(ScenarioRun, CpuWorkersReportTheirCpuShare) {
  Scenario scenario = made(100, {{10, 1}, {10, 1}});
  scenario.workers[0].kind = DeviceKind::cpu;
  scenario.events.push_back(on(0, 3, 5));
  scenario.events.back().cpu = 0.25;
  const RecordingPolicy::Seen seen = recorded(scenario);
  ASSERT_EQ(seen.samples.size(), 20U);
  for (const balancing::Sample& sample : seen.samples) {
    const bool struck = sample.slot == 0 && sample.round >= 3 && sample.round < 5;
    EXPECT_EQ(sample.cpu, sample.slot == 1 ? -1 : struck ? 0.25 : 1.0);
    EXPECT_NEAR(sample.seconds, struck ? 0.24 : 0.06, 1e-9);
  }
}

TEST(ScenarioRun, CpuWorkersReportTheirMemory) {
  Scenario scenario = made(150, {{10, 1}, {10, 1}, {10, 1}});
  scenario.workers[0].kind = scenario.workers[1].kind = DeviceKind::cpu;
  scenario.workers[0].memory_mb = scenario.workers[2].memory_mb = 8000;  // GPU workers do not report it
  scenario.events.push_back(on(0, 3, 5));
  scenario.events.back().memory = 0.25;
  const RecordingPolicy::Seen seen = recorded(scenario);
  ASSERT_EQ(seen.samples.size(), 30U);
  for (const balancing::Sample& sample : seen.samples) {
    const bool struck = sample.round >= 3 && sample.round < 5;
    EXPECT_EQ(sample.memory, sample.slot != 0 ? -1 : struck ? 2000 : 8000) << sample.round;
    EXPECT_NEAR(sample.seconds, 0.06, 1e-9) << "the memory does not change the time";
  }
  // A request contains the values reported for the round before.
  for (const balancing::Request& request : seen.requests) {
    const bool struck = request.round >= 4 && request.round < 6;
    EXPECT_EQ(request.workers[0].memory, request.round == 0 ? -1 : struck ? 2000 : 8000) << request.round;
    EXPECT_EQ(request.workers[1].memory, -1);
  }
}

// A predictor learns from the readings that it was asked with.
TEST(ScenarioRun, SamplesContainTheReadingsOfTheirPlan) {
  Scenario scenario = made(100, {{10, 1}, {10, 1}});
  scenario.workers[0].kind = scenario.workers[1].kind = DeviceKind::cpu;
  scenario.rounds = 60;
  scenario.samples_per_epoch = 6000;
  Event& event = scenario.events.emplace_back();
  event.shape = Shape::bursty;
  event.mean_gap = event.mean_length = 4;
  event.cpu = 0.5;
  std::map<Readings, std::vector<double>> known;
  for (const Readings readings : {Readings::late, Readings::barrier, Readings::oracle}) {
    scenario.readings = readings;
    const RecordingPolicy::Seen seen = recorded(scenario);
    std::map<std::pair<Round, std::uint32_t>, double> planned, measured;
    for (const balancing::Request& request : seen.requests) {
      for (const auto& worker : request.workers) planned[{request.round, worker.slot}] = worker.cpu;
    }
    for (const balancing::Sample& sample : seen.samples) {
      EXPECT_EQ(sample.planned_cpu, planned.at({sample.round, sample.slot}));
      measured[{sample.round, sample.slot}] = sample.cpu;
      known[readings].push_back(sample.planned_cpu);
    }
    for (const auto& [of, cpu] : planned) {
      if (of.first == 0) continue;
      if (readings == Readings::barrier) {
        EXPECT_TRUE(cpu == 1 || cpu == 0.5) << cpu;
      } else {
        const Round round = readings == Readings::late ? of.first - 1 : of.first;
        EXPECT_EQ(cpu, measured.at({round, of.second}));
      }
    }
  }
  EXPECT_NE(known[Readings::late], known[Readings::barrier]);
  EXPECT_NE(known[Readings::barrier], known[Readings::oracle]);
}

// Events count batches of global_batch samples: a round of local steps reports the signals of its last batch.
TEST(ScenarioRun, LongRoundsReportTheSignalsOfTheirLastBatch) {
  Scenario scenario = made(100, {{10, 1}, {10, 1}});
  scenario.sync = "local:5";
  scenario.workers[0].kind = DeviceKind::cpu;
  scenario.workers[0].memory_mb = 8000;
  scenario.events.push_back(on(0, 7, 10));
  scenario.events.back().memory = 0.5;
  scenario.events.back().cpu = 0.25;
  std::vector<double> memory, cpu;
  for (const balancing::Sample& sample : recorded(scenario).samples) {
    if (sample.slot != 0) continue;
    memory.push_back(sample.memory);
    cpu.push_back(sample.cpu);
  }
  EXPECT_THAT(memory, ElementsAre(8000, 4000));
  EXPECT_THAT(cpu, ElementsAre(1, 0.25));
}

// Half speed from 0.3 s on, in the middle of the third round: 50 ms at full speed, then 100 ms for the rest.
TEST(ScenarioRun, TracesStartWithTheFirstRound) {
  Scenario scenario = made(100, {{0, 1}});
  scenario.network.step_ms = 25;
  scenario.workers[0].kind = DeviceKind::cpu;
  scenario.workers[0].trace = {SpeedTrace::Kind::cpu, {0, 0.3}, {1, 0.5}};
  const auto rounds = rounds_of(scenario);
  EXPECT_NEAR(rounds[1].compute_ms[0], 100, 1e-5);
  EXPECT_NEAR(rounds[2].compute_ms[0], 50 + 100, 1e-5);
  EXPECT_NEAR(rounds[3].compute_ms[0], 200, 1e-5);
}

TEST(ScenarioRun, TrainsOnlyIfTheScenarioAsksForIt) {
  const Scenario scenario = made(100, {{0, 1}});
  ScenarioRun world(scenario, policy("equal"), {ScenarioRun::Checks::steps, {}});
  world.run();
  EXPECT_TRUE(world.results().evaluations().empty());
}

TEST(ScenarioRun, TenThousandWorkersCompleteRounds) {
  Scenario scenario = made(20'000, {});
  scenario.rounds = 2;
  scenario.samples_per_epoch = 40'000;
  for (int i = 0; i < 10'000; ++i)
    scenario.workers.push_back({"w" + std::to_string(i), DeviceKind::gpu, {1, 0.5}, 0, 0.1});
  ScenarioRun world(scenario, policy("equal"), {});
  world.run();
  ASSERT_EQ(world.results().rounds().size(), 2U);
  EXPECT_EQ(total(world.results().rounds()[1]), 20'000U);
  EXPECT_THAT(world.results().rounds()[1].shares, testing::Each(2U));
}

}  // namespace
}  // namespace steelyard::sim::scenario_run_test
