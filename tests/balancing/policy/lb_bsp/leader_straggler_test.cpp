#include "balancing/policy/lb_bsp/leader_straggler.h"

#include <gmock/gmock.h>

#include "balancing/policy/lb_bsp.h"
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

// LB-BSP (Chen et al. 2020), the search on GPUs: after D rounds with the same straggler and leader, DELTA
// samples move from the straggler to the leader.
TEST(LeaderStraggler, MovesOneStepAfterTheWindow) {
  LeaderStraggler search;
  const std::vector<Unit> units{{0, 1.0, 100}, {1, 1.5, 100}, {2, 2.0, 100}};
  EXPECT_EQ(repeat(search, 4, units), std::nullopt);
  EXPECT_EQ(repeat(search, 1, units), (Move{2, 0, 4, false}));
  EXPECT_EQ(repeat(search, 4, units), std::nullopt);
}

TEST(LeaderStraggler, AnotherPairRestartsTheWindow) {
  LeaderStraggler search;
  const std::vector<Unit> units{{0, 1.0, 100}, {1, 1.1, 100}, {2, 1.2, 100}};
  EXPECT_EQ(repeat(search, 4, units), std::nullopt);
  EXPECT_EQ(repeat(search, 1, {{0, 1.0, 100}, {1, 1.3, 100}, {2, 1.2, 100}}), std::nullopt);
  EXPECT_EQ(repeat(search, 4, units), std::nullopt);
  EXPECT_NE(repeat(search, 1, units), std::nullopt);
}

TEST(LeaderStraggler, AnUndoneMoveHalvesTheStepAndDoublesTheWindow) {
  LeaderStraggler search;
  repeat(search, 5, {{0, 1.0, 100}, {1, 1.1, 100}});
  EXPECT_EQ(repeat(search, 5, {{0, 1.1, 104}, {1, 1.0, 96}}), (Move{0, 1, 2, false}));
  EXPECT_EQ(search.step(), 2u);
  EXPECT_EQ(search.window(), 10u);
  for (int i = 0; i < 400; ++i) repeat(search, 1, {{0, 1.0 + 0.1 * (i / 80 % 2), 100}, {1, 1.05, 100}});
  EXPECT_EQ(search.step(), 1u);
  EXPECT_LE(search.window(), 80u);
}

// Nothing public says how the search recovers from a change. Our rule: five rounds with SE above 0.3 reset
// step and window.
TEST(LeaderStraggler, FiveUnbalancedRoundsResetStepAndWindow) {
  LeaderStraggler search;
  repeat(search, 5, {{0, 1.0, 100}, {1, 1.1, 100}});
  repeat(search, 5, {{0, 1.1, 104}, {1, 1.0, 96}});
  EXPECT_EQ(search.step(), 2u);
  const std::vector<Unit> apart{{0, 2.0, 100}, {1, 1.0, 100}};
  repeat(search, 4, apart);
  EXPECT_EQ(search.step(), 2u);
  repeat(search, 1, apart);
  EXPECT_EQ(search.step(), 4u);
  EXPECT_EQ(search.window(), 5u);
}

TEST(LeaderStraggler, TheLeaderMustHaveRoom) {
  LeaderStraggler search;
  EXPECT_EQ(repeat(search, 5, {{0, 1.0, 100, 100}, {1, 1.1, 100}, {2, 1.2, 100}}), (Move{2, 1, 4, false}));
}

TEST(LeaderStraggler, AStragglerWithoutEnoughSamplesIsRemoved) {
  LeaderStraggler search;
  EXPECT_EQ(repeat(search, 5, {{0, 1.0, 150}, {1, 1.29, 3}}), (Move{1, 0, 3, true}));
}

TEST(LeaderStraggler, NothingMovesInsideTheDeadBand) {
  LeaderStraggler search;
  EXPECT_EQ(repeat(search, 50, {{0, 1.0, 100}, {1, 1.02, 100}}), std::nullopt);
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

}  // namespace
}  // namespace steelyard::balancing::leader_straggler_test
