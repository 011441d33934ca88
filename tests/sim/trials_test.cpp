// A resting worker is measured beside a round: no round waits for it, and every position counts once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "core/random.h"
#include "sim/scenario_run.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::trials_test {
namespace {

using balancing::Request;
using testing::Each;
using testing::SizeIs;

constexpr double gpu_ms = 0.01, cpu_ms = 200 * gpu_ms;  // a sample

// A GPU, and a CPU that needs 62 ms for one sample while a round of 1024 takes 11. No noise.
Scenario mixed(Round rounds) {
  Scenario scenario = made(1024, {{1, gpu_ms}, {60, cpu_ms}}, "steelyard");
  scenario.workers[1].kind = DeviceKind::cpu;
  scenario.rounds = rounds;
  scenario.samples_per_epoch = scenario.global_batch * rounds;
  scenario.network = {.latency_ms = 0.05, .bandwidth_gbps = 100, .model_mb = 1};
  return scenario;
}

std::vector<RoundResult> rounds_of(const Scenario& scenario, const ScenarioRun::MakePolicy& make) {
  ScenarioRun world(scenario, make, {ScenarioRun::Checks::rounds, {}});
  world.run();
  return world.results().rounds();
}
std::vector<RoundResult> rounds_of(const Scenario& scenario) {
  return rounds_of(scenario,
                   [](const balancing::TrueCurves&) { return balancing::make_policy("steelyard"); });
}
std::vector<double> trials_of(const std::vector<RoundResult>& rounds, std::size_t worker) {
  std::vector<double> trials;
  for (const RoundResult& round : rounds)
    if (!round.trial_ms.empty() && round.trial_ms[worker] > 0) trials.push_back(round.trial_ms[worker]);
  return trials;
}

TEST(Trials, NoRoundWaitsForAWorkerThatIsTried) {
  const std::vector<RoundResult> rounds = rounds_of(mixed(7000));
  Scenario alone = mixed(20);
  alone.workers.pop_back();
  const double round_ms = rounds_of(alone).back().round_ms;
  EXPECT_THAT(trials_of(rounds, 1), testing::AllOf(testing::Not(testing::IsEmpty()), Each(60 + cpu_ms)))
      << "the trial measures it";
  for (std::size_t k = 5; k < rounds.size(); ++k) {
    ASSERT_LE(rounds[k].round_ms, round_ms + 1e-6) << "round " << k;
    ASSERT_EQ(rounds[k].shares[0], 1024U) << "round " << k;
  }
}

// From round 3500 on the CPU is as fast as the GPU.
TEST(Trials, AWorkerThatHasRecoveredWorksAgain) {
  Scenario scenario = mixed(13'000);
  scenario.events.push_back(on(1, 0, 3500));
  scenario.events.back().add_ms = 60;
  scenario.workers[1].time_ms = {1, gpu_ms};
  const std::vector<RoundResult> rounds = rounds_of(scenario);
  EXPECT_EQ(rounds[3400].shares[1], 0U);
  EXPECT_NEAR(static_cast<double>(rounds.back().shares[1]), 512, 30);
}

// A policy that tries one worker beside every round, as soon as its last trial is over.
class AlwaysTries final : public balancing::Policy {
 public:
  explicit AlwaysTries(std::uint32_t slot) : slot_(slot) {}

  void observe(const balancing::Sample& sample) override { busy_ = busy_ && sample.slot != slot_; }
  std::vector<std::uint64_t> plan(const Request& request) override {
    std::vector<std::uint64_t> shares(request.workers.size());
    std::uint64_t left = request.positions;
    const std::size_t workers = shares.size();
    beside_.clear();
    for (std::size_t i = 0; i < workers; ++i) {
      const bool tried = request.workers[i].slot == slot_ && workers > 1 && left > 2 * workers;
      if (tried && !busy_) shares[i] = 1, beside_ = {slot_}, busy_ = true;
      left -= shares[i];
    }
    for (std::size_t i = 0; i < workers; ++i) {
      if (request.workers[i].slot == slot_ && workers > 1) continue;
      shares[i] += left;
      left = 0;
    }
    return shares;
  }
  [[nodiscard]] std::vector<std::uint32_t> beside_round() const override { return beside_; }
  [[nodiscard]] std::string save() const override { return ""; }
  void restore(const std::string&) override {}

 private:
  const std::uint32_t slot_;
  std::vector<std::uint32_t> beside_;
  bool busy_ = false;
};

// The run itself checks that every version of the parameters holds each position once.
TEST(Trials, EveryPositionCountsOnceIfWorkersAreLost) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Scenario scenario = made(64 + random.below(200), {{1, 0.05}, {2, 0.05}, {10 + 40 * random.uniform(), 5}});
    scenario.seed = seed;
    scenario.rounds = 60;
    scenario.samples_per_epoch = scenario.global_batch * 7 + random.below(60);
    scenario.servers = static_cast<std::uint32_t>(1 + random.below(3));
    scenario.network = {.latency_ms = 2 * random.uniform(), .bandwidth_gbps = 1, .model_mb = 1};
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      const Round from = 1 + random.below(50);
      scenario.events.push_back(on(random.below(3), from, from + 2 + random.below(10)));
      scenario.events.back().kill = true;
    }
    if (scenario.events.size() == 3) scenario.events.pop_back();  // one worker remains
    std::vector<RoundResult> rounds;
    ASSERT_NO_THROW(
        rounds = rounds_of(scenario,
                           [&](const balancing::TrueCurves&) { return std::make_unique<AlwaysTries>(2); }))
        << "seed " << seed;
    ASSERT_THAT(rounds, SizeIs(60)) << "seed " << seed;
    EXPECT_FALSE(trials_of(rounds, 2).empty()) << "seed " << seed;
    for (const RoundResult& round : rounds) {
      const std::uint64_t told = round.shares[0] + round.shares[1] + round.shares[2];
      EXPECT_TRUE(told == round.samples || told == 0) << "seed " << seed << ": its reports may be lost";
    }
  }
}

}  // namespace
}  // namespace steelyard::sim::trials_test
