#include "balancing/policy/steelyard_policy.h"

#include <gmock/gmock.h>

#include <numeric>

#include "core/random.h"
#include "tests/balancing/arena.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::steelyard_test {
namespace {

using arena::Round;
using arena::Scenario;
using testing::Each;
using testing::ElementsAre;

TEST(Steelyard, TheFirstPlanIsEqual) {
  Steelyard policy;
  EXPECT_THAT(policy.plan({1, 512, {{.slot = 0}, {.slot = 1}, {.slot = 2}, {.slot = 3}}}), Each(128u));
}

// LBB (Yao et al. 2024), Table 2: the exact optimum of its two-point lines, without a profile.
TEST(Steelyard, FindsTheOptimumOfTable2InAFewRounds) {
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(Scenario("", 512, 30, arena::lbb_table_2(0)), policy);
  EXPECT_LT(rounds[2].straggler_effect(), 0.1);
  const std::vector<double> best{166, 167, 159, 20};
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_NEAR(static_cast<double>(rounds[29].share(i)), best[i], 1);
}

// The first round of a real run takes a hundred times as long as later ones. The speed learned in it must not
// make the later times look like fixed costs only: that once gave one worker next to nothing, then
// everything.
TEST(Steelyard, ASlowFirstRoundDoesNotDistortTheModel) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<arena::Machine> machines{{{0.01, 0.001}, DeviceKind::cpu}, {{0.01, 0.003}, DeviceKind::cpu}};
    for (arena::Machine& machine : machines) machine.jitter = 0.3;
    Scenario scenario("", 256, 40, machines, seed);
    scenario.warm_up(200);
    Steelyard policy;
    const std::vector<Round> rounds = arena::play(scenario, policy);
    for (std::size_t k = 2; k < rounds.size(); ++k) {
      EXPECT_GE(rounds[k].share(0), 96u) << "seed " << seed << ", round " << k + 1;  // best: 192
      EXPECT_GE(rounds[k].share(1), 16u) << "seed " << seed << ", round " << k + 1;  // best: 64
    }
  }
}

// If a worker's exchange takes 100 ms longer than that of the others, it has 100 ms less to compute.
TEST(Steelyard, ASlowLinkLeavesLessTimeToCompute) {
  Scenario scenario("", 600, 40, std::vector<arena::Machine>(3, {{5, 1}, DeviceKind::gpu, 0.01}), 3);
  scenario.network.step_ms = 30;
  scenario.link(2, 1, 41, 100);
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(scenario, policy);
  for (std::size_t k = 12; k < rounds.size(); ++k) {
    EXPECT_NEAR(static_cast<double>(rounds[k].share(2)), (600 - 2 * 100) / 3.0, 8) << "round " << k + 1;
    EXPECT_NEAR(static_cast<double>(rounds[k].share(0)), (600 + 100) / 3.0, 8) << "round " << k + 1;
  }
}

// A process was suspended for half a minute, which made one round take 300 times as long.
TEST(Steelyard, ASuspendedProcessKeepsItsShare) {
  Scenario scenario("", 512, 120, arena::lbb_table_2(), 4);
  scenario.outlier(1, 60, 300);
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(scenario, policy);
  for (std::size_t k = 60; k < 120; ++k) {
    EXPECT_NEAR(static_cast<double>(rounds[k].share(1)), 167, 9) << "round " << k + 1;
  }
}

TEST(Steelyard, NoiseMovesSharesLittle) {
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(Scenario("", 512, 300, arena::lbb_table_2(0.02), 4), policy);
  for (std::size_t k = 50; k < 300; ++k) {
    EXPECT_NEAR(static_cast<double>(rounds[k].share(0)), 166, 6) << "round " << k + 1;
  }
}

TEST(Steelyard, ANewcomerCountsAsTheMeanOfTheOthers) {
  Steelyard policy;
  Scenario scenario(
      "", 900, 20,
      {{{0, 1}, DeviceKind::gpu, 0}, {{0, 2}, DeviceKind::gpu, 0}, {{0, 9}, DeviceKind::gpu, 0}});
  scenario.join(2, 11);
  const std::vector<Round> rounds = arena::play(scenario, policy);
  EXPECT_NEAR(static_cast<double>(rounds[9].share(0)), 600, 8);
  EXPECT_NEAR(static_cast<double>(rounds[10].share(2)), 277, 8);  // 1 : 1/2 : 1/1.5
  EXPECT_NEAR(static_cast<double>(rounds[19].share(2)), 900 / 9.0 / (1 + 0.5 + 1 / 9.0), 8);
}

// It counts as 32 times as slow, in the first round and when it joins; if all are CPUs, nothing changes.
TEST(Steelyard, AnUnmeasuredCpuBesideGpusCountsAsSlow) {
  for (const DeviceKind first : {DeviceKind::gpu, DeviceKind::cpu}) {
    const bool gpu = first == DeviceKind::gpu;
    Steelyard policy;
    Scenario scenario("", 900, 20, {{{0, 1}, first, 0}, {{0, 2}, first, 0}, {{0, 3}, DeviceKind::cpu, 0}});
    scenario.join(2, 11);
    const std::vector<Round> joined = arena::play(scenario, policy);
    // 1 : 1/2 : 1/48 or 1/1.5; an estimated fixed cost lowers the former.
    EXPECT_NEAR(static_cast<double>(joined[10].share(2)), gpu ? 7 : 277, gpu ? 6 : 8);
    EXPECT_NEAR(static_cast<double>(joined[19].share(2)), 900 / 3.0 / (1 + 1 / 2.0 + 1 / 3.0), 8);
    const std::vector<WorkerView> workers{{.slot = 0, .kind = first}, {.slot = 1, .kind = DeviceKind::cpu}};
    EXPECT_THAT(Steelyard().plan({1, 900, workers}), gpu ? ElementsAre(873, 27) : ElementsAre(450, 450));
  }
}

TEST(Steelyard, AReturningSlotIsMeasuredAgain) {
  Scenario scenario("", 600, 30, {{{0, 1}, DeviceKind::gpu, 0}, {{0, 1}, DeviceKind::gpu, 0}});
  Steelyard policy;
  arena::play(scenario, policy);
  policy.plan({31, 600, {{.slot = 0}}});
  EXPECT_THAT(policy.plan({32, 600, {{.slot = 0}, {.slot = 1}}}), ElementsAre(300, 300));
}

// The worker reports its CPU share before the round; the policy has no measurement at some of these shares.
TEST(Steelyard, ReactsToTheCpuShareBeforeTheRound) {
  Scenario scenario("", 600, 200, {{{0, 1}, DeviceKind::cpu, 0.02}, {{0, 1}, DeviceKind::cpu, 0.02}}, 3);
  scenario.co_tenant(0, 20, 10, 0.5);
  Steelyard policy;
  arena::play(scenario, policy);
  for (const auto& [cpu, share] : {std::pair{1.0, 300.0}, std::pair{0.5, 200.0}, std::pair{0.25, 120.0}}) {
    Steelyard what_if;
    what_if.restore(policy.save());
    const auto shares = what_if.plan({201, 600, {{.slot = 0, .cpu = cpu}, {.slot = 1, .cpu = 1}}});
    EXPECT_NEAR(static_cast<double>(shares[0]), share, 20) << cpu;
  }
}

// A signal unrelated to the time does not affect shares.
TEST(Steelyard, IgnoresASignalWithoutInfluence) {
  Steelyard policy;
  Request request{0, 600, {{.slot = 0}, {.slot = 1}}};
  for (request.round = 1; request.round <= 100; ++request.round) {
    for (WorkerView& worker : request.workers) worker.cpu = unit(hash(request.round, worker.slot));
    const auto shares = policy.plan(request);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const double noise = 1 + 0.04 * (unit(hash(request.round, i, 7)) - 0.5);
      Sample sample{i, request.round, shares[i], static_cast<double>(shares[i]) * noise};
      sample.cpu = sample.planned_cpu = request.workers[i].cpu;
      policy.observe(sample);
      if (request.round <= 20) continue;
      EXPECT_NEAR(static_cast<double>(shares[i]), 300, 12) << request.round;
    }
  }
}

// The same with the memory that a co-tenant leaves; the policy has to learn how much it matters.
TEST(Steelyard, ReactsToFreeMemoryBeforeTheRound) {
  Scenario scenario("", 600, 200, {{{0, 1}, DeviceKind::cpu, 0.02}, {{0, 1}, DeviceKind::cpu, 0.02}}, 3);
  scenario.memory_tenant(0, 20, 10, 0.25, 2);
  Steelyard policy;
  arena::play(scenario, policy);
  for (const auto& [memory, share] :
       {std::pair{16000.0, 300.0}, std::pair{15900.0, 300.0}, std::pair{4000.0, 200.0}}) {
    Steelyard what_if;
    what_if.restore(policy.save());
    const auto shares = what_if.plan(
        {201, 600, {{.slot = 0, .cpu = 1, .memory = memory}, {.slot = 1, .cpu = 1, .memory = 16000}}});
    EXPECT_NEAR(static_cast<double>(shares[0]), share, 20) << memory;
  }
}

// With a profile even the first round is balanced, and a slow first round does not spoil it.
TEST(Steelyard, UsesAProfileUntilItHasMeasurements) {
  Scenario scenario("", 512, 30, arena::lbb_table_2(0.01), 3);
  scenario.warm_up(20);
  Steelyard policy({.profile = scenario.profile()});
  for (const Round& round : arena::play(scenario, policy)) EXPECT_LT(round.straggler_effect(), 0.12);
}

TEST(Steelyard, AWrongProfileIsCorrected) {
  Scenario scenario("", 512, 30, arena::lbb_table_2(0.01), 3);
  Steelyard policy({.profile = scenario.profile()});
  scenario.scale(1, 0, 31, 2);
  const std::vector<Round> rounds = arena::play(scenario, policy);
  EXPECT_GT(rounds[0].straggler_effect(), 0.5);
  for (std::size_t k = 3; k < 30; ++k) EXPECT_LT(rounds[k].straggler_effect(), 0.12) << k + 1;
}

// A measured line with a negative fixed cost gives no time for small shares.
TEST(Steelyard, AnImpossibleProfileIsIgnored) {
  Steelyard policy({.profile = Profile({{"", {{-0.1, 0.001}}}})});
  const Request request{1, 100, {{.slot = 0}, {.slot = 1}}};
  policy.plan(request);
  policy.observe({.slot = 0, .round = 1, .samples = 50, .seconds = 0.1});
  policy.observe({.slot = 1, .round = 1, .samples = 50, .seconds = 0.2});
  const auto shares = policy.plan({2, 100, request.workers});
  EXPECT_GT(shares[0], shares[1]);
}

TEST(Steelyard, ANewcomerStartsWithItsProfile) {
  Scenario scenario(
      "", 900, 20,
      {{{0, 1}, DeviceKind::gpu, 0}, {{0, 2}, DeviceKind::gpu, 0}, {{0, 9}, DeviceKind::gpu, 0}});
  scenario.join(2, 11);
  Steelyard policy({.profile = scenario.profile()});
  const std::vector<Round> rounds = arena::play(scenario, policy);
  EXPECT_NEAR(static_cast<double>(rounds[10].share(2)), 900 / 9.0 / (1 + 0.5 + 1 / 9.0), 8);
}

// Short rounds and evaluations are solved separately and do not affect the split.
TEST(Steelyard, OtherRoundLengthsDoNotChangeTheSplit) {
  const Scenario scenario("", 512, 40, arena::lbb_table_2(0.01), 3);
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(scenario, policy);
  Steelyard other;
  other.restore(policy.save());
  const auto usual = other.plan(scenario.request(40));
  Request request = scenario.request(40);
  for (const std::uint64_t positions : {1u, 7u, 100u, 10000u}) {
    request.positions = positions;
    const auto shares = policy.plan(request);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}), positions);
  }
  // 100 samples: the GTX 750, with its 51 ms of fixed cost, would only delay them.
  request.positions = 100;
  EXPECT_EQ(policy.plan(request)[3], 0u);
  request.positions = 512;
  EXPECT_EQ(policy.plan(request), usual);
}

// After many false alarms, a single deviation is never accepted.
TEST(Steelyard, FrequentAccidentsDoNotMoveShares) {
  Scenario scenario("", 512, 300, arena::lbb_table_2(0.01), 3);
  for (std::uint32_t k = 20; k < 300; k += 5) scenario.outlier(k % 4, k, 3);
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(scenario, policy);
  for (std::size_t k = 30; k < 300; ++k) {
    EXPECT_NEAR(static_cast<double>(rounds[k].share(0)), 166, 9) << "round " << k + 1;
  }
}

// In a cluster with lasting changes, one round is enough from the third change on.
TEST(Steelyard, LearnsThatChangesLast) {
  Scenario scenario("", 512, 400, arena::lbb_table_2(0.01), 3);
  for (std::uint64_t k = 50; k < 400; k += 60) scenario.scale(1, k, k + 30, 2.5);
  Steelyard policy;
  Oracle oracle(scenario.truth());
  const std::vector<Round> rounds = arena::play(scenario, policy), ideal = arena::play(scenario, oracle);
  EXPECT_GT(rounds[50].ms, 1.3 * ideal[50].ms);    // the second round of the first change
  EXPECT_LT(rounds[290].ms, 1.1 * ideal[290].ms);  // the second round of the fifth change
}

// Every 25 rounds, one of eleven workers is three times as slow for 3 rounds. It keeps its share in between,
// and costs at most the two rounds that each onset and each return take.
TEST(Steelyard, AnOftenSlowWorkerKeepsItsShareInBetween) {
  Scenario scenario("", 2200, 500, std::vector<arena::Machine>(11, {{3, 0.4}, DeviceKind::gpu, 0.01}), 3);
  for (std::uint64_t k = 40; k < 500; k += 25) scenario.scale(4, k, k + 3, 3);
  Steelyard policy;
  const std::vector<Round> rounds = arena::play(scenario, policy);
  EXPECT_GT(rounds[35].share(4), 190u);
  EXPECT_GT(rounds[412].share(4), 180u);
  Steelyard again;
  EXPECT_GT(arena::percent_of_ideal(scenario, again), 85);
}

}  // namespace
}  // namespace steelyard::balancing::steelyard_test
