// Which workers `steelyard` lets rest, when it tries them again, and when it calls them back.
#include <gmock/gmock.h>

#include "balancing/policy/steelyard_policy.h"
#include "tests/balancing/arena.h"

namespace steelyard::balancing::steelyard_rest_test {
namespace {

using arena::Round;
using arena::Scenario;
using testing::ElementsAre;

// Worker 2 has no marginal value: with it the round takes 300 ms, without it 80.
TEST(SteelyardRest, DelayingWorkersRestWithRareTrials) {
  const Scenario scenario("", 256, 12000, {{{5, 0.5}}, {{5, 0.7}}, {{300, 0.5}}}, 8);
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(scenario, policy);
  std::vector<std::size_t> trials;
  for (std::size_t k = 3; k < rounds.size(); ++k) {
    if (rounds[k].share(2) == 0) continue;
    EXPECT_EQ(rounds[k].share(2), 1u) << "round " << k + 1;
    trials.push_back(k);
  }
  ASSERT_GE(trials.size(), 3u);
  EXPECT_LE(trials.size(), 6u);
  for (std::size_t i = 2; i < trials.size(); ++i) {
    EXPECT_GE(trials[i] - trials[i - 1], trials[i - 1] - trials[i - 2]);
  }
}

TEST(SteelyardRest, ARecoveredWorkerWorksAgain) {
  Scenario scenario("", 256, 600,
                    {{{5, 0.5}, DeviceKind::gpu, 0.01},
                     {{5, 0.7}, DeviceKind::gpu, 0.01},
                     {{5, 0.5}, DeviceKind::gpu, 0.01}},
                    8);
  scenario.add(2, 50, 100, 200);
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(scenario, policy);
  EXPECT_EQ(rounds[70].share(2), 0u);
  EXPECT_NEAR(static_cast<double>(rounds[599].share(2)), static_cast<double>(rounds[599].share(0)), 8);
}

TEST(SteelyardRest, AWorkerThatMayNotRestKeepsASample) {
  Steelyard policy;
  Request request{0, 256, {{.slot = 0}, {.slot = 1, .may_rest = false}, {.slot = 2, .least = 3}}};
  for (request.round = 1; request.round < 60; ++request.round) {
    const auto shares = policy.plan(request);
    EXPECT_GE(shares[1], 1u);
    EXPECT_GE(shares[2], 3u);
    for (std::uint32_t i = 0; i < 3; ++i) {
      policy.observe(
          {i, request.round, shares[i], (i == 0 ? 0.0 : 1.0) + 0.001 * static_cast<double>(shares[i])});
    }
  }
}

// In the policy's own model the plan is never slower than the best single worker, which is a split too.
TEST(SteelyardRest, NeverSlowerThanOneWorkerInItsOwnModel) {
  const Scenario scenario(
      "", 64, 60,
      {{{1, 0.1}, DeviceKind::gpu, 0}, {{40, 0.1}, DeviceKind::gpu, 0}, {{60, 0.1}, DeviceKind::gpu, 0}});
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(scenario, policy);
  EXPECT_THAT(rounds[20].shares, ElementsAre(64, 0, 0));
  EXPECT_LE(rounds[20].ms, scenario.time(0, 21, 64) + 1e-9);
}

// A link is eight times as slow for a hundred rounds: the worker gets less, then rests, then recovers.
TEST(SteelyardRest, AWorkerWithARecoveredLinkWorksAgain) {
  Scenario scenario("", 256, 400, std::vector<arena::Machine>(4, {{5, 1}, DeviceKind::gpu, 0.01}), 8);
  scenario.network.step_ms = 20;
  scenario.link(1, 100, 200, 140);
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(scenario, policy);
  EXPECT_NEAR(static_cast<double>(rounds[98].share(1)), 64, 4);
  EXPECT_EQ(rounds[110].share(1), 0u);
  std::size_t back = 200;
  while (back < 400 && rounds[back].share(1) < 50) ++back;
  EXPECT_LT(back, 300u);
  for (std::size_t k = back + 3; k < 400; ++k) EXPECT_NEAR(static_cast<double>(rounds[k].share(1)), 64, 6);
}

// Two machines that are often interrupted for longer than a round. Two pause twice as often as one, and the
// second contributes less than its pauses cost, which no curve shows.
TEST(SteelyardRest, AWorkerThatPausesTooOftenRests) {
  std::vector<arena::Machine> machines{{{0.01, 0.001}, DeviceKind::cpu}, {{0.01, 0.003}, DeviceKind::cpu}};
  for (arena::Machine& machine : machines)
    machine.jitter = 0.6, machine.pause_chance = 0.05, machine.pause_ms = 5;
  double over_alone = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Scenario scenario("", 256, 3000, machines, seed);
    Steelyard policy;
    const std::vector<Round> rounds = arena::play(scenario, policy);
    Oracle oracle(scenario.truth());
    const double ours = arena::total_ms(rounds), ideal = arena::total_ms(arena::play(scenario, oracle));
    EXPECT_LT(ours, 0.95 * ideal) << "seed " << seed << ": the ideal knows the curves but not the pauses";
    over_alone += ours / arena::best_single_ms(scenario) / 5;
  }
  EXPECT_LT(over_alone, 1.07);
}

// The same where each worker contributes more than it costs: all stay, except for a few rounds.
TEST(SteelyardRest, AWorkerWorthItsPausesStays) {
  std::vector<arena::Machine> machines(4, {{1, 0.1}, DeviceKind::cpu, 0.05});
  for (arena::Machine& machine : machines) machine.pause_chance = 0.02, machine.pause_ms = 10;
  const Scenario scenario("", 400, 1000, machines, 5);
  Steelyard policy;
  std::size_t rests = 0;
  for (const Round& round : arena::play(scenario, policy)) {
    for (std::uint32_t slot = 0; slot < 4; ++slot) rests += round.share(slot) == 0;
  }
  EXPECT_LT(rests, 100u);
}

// Two machines with occasional co-tenants delay the rounds in which a co-tenant runs. That delay is weighed
// against their mean contribution, not against their contribution in slow rounds, when they could be left out
// for free.
TEST(SteelyardRest, ATemporarilySlowWorkerStays) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Scenario scenario("", 384, 1000,
                      {{{0.2, 0.03}, DeviceKind::gpu, 0.05},
                       {{0.2, 0.07}, DeviceKind::gpu, 0.05},
                       {{0.2, 0.14}, DeviceKind::gpu, 0.05}},
                      seed);
    scenario.bursts(0, 20, 20, 3).bursts(1, 15, 15, 2.5);
    Steelyard policy;
    std::size_t rests = 0;
    for (const Round& round : arena::play(scenario, policy)) {
      for (std::uint32_t slot = 0; slot < 3; ++slot) rests += round.share(slot) == 0;
    }
    EXPECT_LT(rests, 50u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace steelyard::balancing::steelyard_rest_test
