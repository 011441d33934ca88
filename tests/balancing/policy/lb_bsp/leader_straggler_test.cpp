#include "balancing/policy/lb_bsp/leader_straggler.h"

#include <gmock/gmock.h>

#include <numeric>

#include "balancing/policy/lb_bsp.h"
#include "core/random.h"
#include "tests/balancing/arena.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::leader_straggler_test {
namespace {

using Unit = LeaderStraggler::Unit;
using Move = LeaderStraggler::Move;

std::optional<Move> repeat(LeaderStraggler& search, int rounds, const std::vector<Unit>& units) {
  std::optional<Move> last;
  for (int i = 0; i < rounds; ++i) last = search.next(units);
  return last;
}

// A full window of these units; returns the last answer.
std::optional<Move> window_of(LeaderStraggler& search, const std::vector<Unit>& units) {
  (void)search.next(units);  // sets the window if there was none
  return repeat(search, static_cast<int>(search.window()) - 1, units);
}

// LB-BSP (Chen et al. 2020), the search on GPUs: after D rounds in which the leader preceded the straggler,
// DELTA samples move from the straggler to the leader.
TEST(LeaderStraggler, MovesOneStepAfterTheWindow) {
  LeaderStraggler search;
  const std::vector<Unit> units{{0, 1.0, 100}, {1, 1.5, 100}, {2, 2.0, 100}};
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(search.next(units), std::nullopt);
    ASSERT_GT(search.window(), 1u);
    EXPECT_EQ(repeat(search, static_cast<int>(search.window()) - 1, units),
              (Move{2, 0, search.step(), false}));
  }
}

// The window belongs to the pair: among similar GPUs with noise, another one is first in every round.
TEST(LeaderStraggler, OthersMayBeFirstOrLastWithinTheWindow) {
  LeaderStraggler search;
  const std::vector<Unit> units{{0, 1.0, 100}, {1, 1.01, 100}, {2, 1.2, 100}, {3, 1.1, 100}};
  const std::vector<Unit> others{{0, 1.0, 100}, {1, 0.99, 100}, {2, 1.2, 100}, {3, 1.21, 100}};
  EXPECT_EQ(search.next(others), std::nullopt);
  repeat(search, static_cast<int>(search.window()) - 2, others);
  EXPECT_EQ(search.next(units), (Move{2, 0, search.step(), false}));
}

TEST(LeaderStraggler, ARoundInTheOtherOrderRestartsTheWindow) {
  LeaderStraggler search;
  const std::vector<Unit> units{{0, 1.0, 100}, {1, 1.2, 100}}, reverse{{0, 1.2, 100}, {1, 1.0, 100}};
  EXPECT_EQ(search.next(units), std::nullopt);
  for (int k = 0; k < 20; ++k) {
    EXPECT_EQ(repeat(search, static_cast<int>(search.window()) - 1, reverse), std::nullopt);
    EXPECT_EQ(search.next(units), std::nullopt);
  }
  EXPECT_NE(repeat(search, static_cast<int>(search.window()) - 1, units), std::nullopt);
}

TEST(LeaderStraggler, AMoveRestartsOnlyTheWindowOfItsPair) {
  LeaderStraggler search;
  const std::vector<Unit> units{{0, 1.0, 100}, {1, 1.01, 100}, {2, 1.2, 100}};
  const auto moved = window_of(search, units);
  EXPECT_EQ(moved, (Move{2, 0, search.step(), false}));
  EXPECT_EQ(repeat(search, 1, {{0, 1.05, 104}, {1, 1.01, 100}, {2, 1.15, 96}}),
            (Move{2, 1, search.step(), false}));
}

TEST(LeaderStraggler, AUnitThatDidNotWorkHasNoWindow) {
  LeaderStraggler search;
  EXPECT_NE(window_of(search, {{0, 1.0, 100}, {1, 1.1, 100}}), std::nullopt);
  const std::vector<Unit> with_another{{0, 1.1, 100}, {1, 1.1, 100}, {2, 1.2, 100}};
  EXPECT_EQ(repeat(search, static_cast<int>(search.window()) - 1, with_another), std::nullopt);
  EXPECT_EQ(search.next(with_another), (Move{2, 0, search.step(), false}));
}

TEST(LeaderStraggler, AnUndoneMoveHalvesTheStepAndDoublesTheWindow) {
  LeaderStraggler search;
  window_of(search, {{0, 1.0, 100}, {1, 1.1, 100}});
  const std::uint64_t step = search.step(), window = search.window();
  EXPECT_EQ(window_of(search, {{0, 1.1, 104}, {1, 1.0, 96}}), (Move{0, 1, step / 2, false}));
  EXPECT_EQ(search.step(), step / 2);
  EXPECT_EQ(search.window(), 2 * window);
  for (int i = 0; i < 4000; ++i) repeat(search, 1, {{0, 1.0 + 0.1 * (i / 80 % 2), 100}, {1, 1.05, 100}});
  EXPECT_EQ(search.step(), 1u);
  EXPECT_LE(search.window(), 80u);
}

// Samples that return through other GPUs oscillate like those that return at once.
TEST(LeaderStraggler, ACircleOfThreeIsAnOscillation) {
  LeaderStraggler search;
  const std::vector<Unit> from_0{{0, 1.2, 100}, {1, 1.0, 100}, {2, 1.1, 100}};
  const std::vector<Unit> from_1{{0, 1.1, 96}, {1, 1.2, 104}, {2, 1.0, 100}};
  const std::vector<Unit> from_2{{0, 1.0, 96}, {1, 1.1, 100}, {2, 1.2, 104}};
  const auto moved = window_of(search, from_0);
  const std::uint64_t step = search.step(), window = search.window();
  EXPECT_EQ(moved, (Move{0, 1, step, false}));
  EXPECT_EQ(window_of(search, from_1), (Move{1, 2, step, false}));
  EXPECT_EQ(search.window(), window) << "two moves of a chain are no circle";
  EXPECT_EQ(window_of(search, from_2), (Move{2, 0, step / 2, false}));
  EXPECT_EQ(search.step(), step / 2);
  EXPECT_EQ(search.window(), 2 * window);
}

// Nothing public says how the search recovers from a change. Our rule: rounds with SE above 0.3, as many as
// the first window has, reset step and window.
TEST(LeaderStraggler, UnbalancedRoundsResetStepAndWindow) {
  LeaderStraggler search;
  window_of(search, {{0, 1.0, 100}, {1, 1.1, 100}});
  const std::uint64_t step = search.step(), window = search.window();
  window_of(search, {{0, 1.1, 104}, {1, 1.0, 96}});
  EXPECT_EQ(search.step(), step / 2);
  const std::vector<Unit> apart{{0, 2.0, 100}, {1, 1.0, 100}};
  repeat(search, static_cast<int>(window) - 1, apart);
  EXPECT_EQ(search.step(), step / 2);
  repeat(search, 1, apart);
  EXPECT_EQ(search.step(), step);
  EXPECT_EQ(search.window(), window);
}

TEST(LeaderStraggler, TheLeaderMustHaveRoom) {
  LeaderStraggler search;
  EXPECT_EQ(window_of(search, {{0, 1.0, 100, 100}, {1, 1.1, 100}, {2, 1.2, 100}}), (Move{2, 1, 4, false}));
  EXPECT_EQ(window_of(search, {{0, 1.0, 100, 100}, {1, 1.1, 100, 102}, {2, 1.2, 100}}),
            (Move{2, 1, 2, false}));
}

TEST(LeaderStraggler, AStragglerWithoutEnoughSamplesIsRemoved) {
  LeaderStraggler search;
  EXPECT_EQ(window_of(search, {{0, 1.0, 150}, {1, 1.29, 3}}), (Move{1, 0, 3, true}));
}

TEST(LeaderStraggler, EqualTimesMoveNothing) {
  LeaderStraggler search;
  EXPECT_EQ(repeat(search, 50, {{0, 1.0, 100}, {1, 1.0, 100}}), std::nullopt);
  EXPECT_EQ(search.next({}), std::nullopt);
}

// LB-BSP (Chen et al. 2020), the search on GPUs, on the emulator of LBB Table 2 (Yao et al. 2024): it reaches
// the exact optimum to within one DELTA, and stays there under 5 % noise.
TEST(LeaderStraggler, FindsTheOptimumOfTable2AndStays) {
  LbBsp quiet, noisy;
  const auto last = arena::play(arena::Scenario("", 512, 600, arena::lbb_table_2(0)), quiet).back();
  const std::vector<double> best{166, 167, 159, 20};
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_NEAR(static_cast<double>(last.share(i)), best[i], 5);
  EXPECT_LT(last.straggler_effect(), 0.08);

  const auto rounds = arena::play(arena::Scenario("", 512, 900, arena::lbb_table_2(0.05), 3), noisy);
  double moved = 0;
  for (std::size_t k = 601; k < 900; ++k) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      moved +=
          std::abs(static_cast<double>(rounds[k].share(i)) - static_cast<double>(rounds[k - 1].share(i)));
    }
  }
  EXPECT_LE(moved, 40);  // samples in 300 rounds
}

// A GPU that takes longer for one sample than the others for the round ends without work, if it may rest.
TEST(LeaderStraggler, LbBspRemovesAHopelessGpu) {
  const arena::Scenario scenario(
      "", 200, 400,
      {{{5, 0.5}, DeviceKind::gpu, 0}, {{5, 0.5}, DeviceKind::gpu, 0}, {{900, 1}, DeviceKind::gpu, 0}});
  LbBsp policy;
  const auto rounds = arena::play(scenario, policy);
  EXPECT_EQ(rounds.back().share(2), 0u);
  EXPECT_NEAR(static_cast<double>(rounds.back().share(0)), 100, 6);

  LbBsp obedient;
  Request request = scenario.request(1);
  request.workers[2].may_rest = false;
  for (request.round = 1; request.round < 400; ++request.round) {
    const auto shares = obedient.plan(request);
    EXPECT_GE(shares[2], 1u);
    for (std::uint32_t i = 0; i < 3; ++i) {
      obedient.observe({i, request.round, shares[i],
                        scenario.time(i, request.round, static_cast<double>(shares[i]), false) / 1000});
    }
  }
}

// Mixed clusters: the CPUs divide the samples that the search grants them by speed, and all finish together.
TEST(LeaderStraggler, LbBspBalancesAMixedCluster) {
  const arena::Scenario scenario("", 1000, 800,
                                 {{{20, 0.2}, DeviceKind::gpu, 0},
                                  {{40, 0.4}, DeviceKind::gpu, 0},
                                  {{0, 1}, DeviceKind::cpu, 0},
                                  {{0, 2}, DeviceKind::cpu, 0}});
  LbBsp policy;
  const auto last = arena::play(scenario, policy).back();
  EXPECT_NEAR(static_cast<double>(last.share(2)), 2 * static_cast<double>(last.share(3)), 2);
  EXPECT_LT(last.straggler_effect(), 0.1);
}

// Random GPUs with bounds, noise, slowdowns and short rounds.
TEST(LeaderStraggler, LbBspKeepsTheSumAndTheBounds) {
  std::uint64_t moves = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Request request{1, 0, {}};
    std::vector<double> ms;
    std::uint64_t least = 0, most = 0;
    for (std::uint32_t slot = 0; slot < 2 + seed % 7; ++slot) {
      WorkerView worker{.slot = slot, .kind = DeviceKind::gpu};
      worker.least = random.below(2) * random.below(20), worker.most = 60 + random.below(200);
      worker.may_rest = random.below(2) == 0;
      least += std::max<std::uint64_t>(1, worker.least), most += worker.most;
      ms.push_back(0.2 + 5 * random.uniform());
      request.workers.push_back(worker);
    }
    const std::uint64_t usual = least + random.below(most - least);
    LbBsp policy;
    std::vector<std::uint64_t> before;
    for (request.round = 1; request.round <= 200; ++request.round) {
      if (request.round % 50 == 0) ms[random.below(ms.size())] *= 2;
      request.positions = request.round % 40 == 0 ? least : usual;
      const std::vector<std::uint64_t> shares = policy.plan(request);
      ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}), request.positions);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const WorkerView& worker = request.workers[i];
        const bool rests = may_rest(worker) && shares[i] == 0;
        ASSERT_TRUE(rests || shares[i] >= std::max<std::uint64_t>(1, worker.least)) << "seed " << seed;
        ASSERT_LE(shares[i], worker.most) << "seed " << seed;
        const double seconds = (5 + ms[i] * static_cast<double>(shares[i])) * (1 + 0.05 * random.uniform());
        if (shares[i] > 0) policy.observe({worker.slot, request.round, shares[i], seconds / 1000});
      }
      moves += shares != before;
      before = shares;
    }
  }
  EXPECT_GT(moves, 60u * 20) << "the search hardly moved anything";
}

// Noise makes one of several equal GPUs the straggler in every round. Shares that follow it wander, and the
// largest share determines the round.
TEST(LeaderStraggler, EqualGpusLoseLessThanAQuarterOfTheNoise) {
  for (const double noise : {0.01, 0.02, 0.05, 0.1}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const double lost = 100 - percent_of_ideal(arena::homogeneous(noise, seed), "lb-bsp");
      EXPECT_LT(lost, 100 * noise / 4) << noise << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace steelyard::balancing::leader_straggler_test
