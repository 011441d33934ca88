// Tests of the arena itself, in which the tests of policies run.
#include "tests/balancing/arena.h"

#include <gmock/gmock.h>

#include "balancing/policy/equal.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::arena::arena_test {
namespace {

using testing::ElementsAre;

TEST(Arena, TheSameSeedGivesTheSameRounds) {
  for (const auto make : {slow_patterns, quick_patterns}) {
    const std::vector<Scenario> once = make(0), again = make(0), other = make(1);
    for (std::size_t i = 0; i < once.size(); ++i) {
      Equal a, b, c;
      const double first = total_ms(play(once[i], a));
      EXPECT_EQ(first, total_ms(play(again[i], b))) << once[i].name;
      EXPECT_NE(first, total_ms(play(other[i], c))) << once[i].name;
    }
  }
}

// LBB (Yao et al. 2024), Table 2: SSGD at 128 each and the balanced split, in ms.
TEST(Arena, TheEmulatorGoesThroughTable2) {
  const Scenario scenario("", 512, 1, lbb_table_2());
  const std::vector<double> even{81.81, 81.49, 85.39, 392.92}, balanced{104.94, 104.14, 103.46, 104.41};
  const std::vector<double> shares{167, 167, 158, 20};
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(scenario.time(i, 1, 128, false), even[i], 0.01);
    EXPECT_NEAR(scenario.time(i, 1, shares[i], false), balanced[i], 0.01);
  }
}

TEST(Arena, DisturbancesHaveTheirDocumentedEffects) {
  Scenario s("", 100, 20, {{{10, 1}, DeviceKind::cpu, 0}, {{0, 1}, DeviceKind::gpu, 0}});
  s.scale(0, 3, 5, 2).add(0, 4, 6, 7).ramp(1, 10, 14, 3).kill(1, 16).outlier(0, 8, 4);
  const auto ms = [&](std::uint32_t slot, std::uint64_t round) { return s.time(slot, round, 10, false); };
  EXPECT_EQ(ms(0, 2), 20);
  EXPECT_EQ(ms(0, 3), 40);
  EXPECT_EQ(ms(0, 4), 47);
  EXPECT_EQ(ms(0, 5), 27);
  EXPECT_EQ(ms(0, 6), 20);
  EXPECT_EQ(ms(1, 10), 10);
  EXPECT_EQ(ms(1, 12), 20);
  EXPECT_EQ(ms(1, 15), 30);
  EXPECT_EQ(s.request(15).workers.size(), 2u);
  EXPECT_EQ(s.request(16).workers.size(), 1u);
  // An outlier is noise: measured, but not part of the true times.
  EXPECT_EQ(ms(0, 8), 20);
  EXPECT_EQ(s.time(0, 8, 10, true), 80);
}

TEST(Arena, RequestsShowTheCoTenant) {
  Scenario s("", 100, 200, {{{0, 1}, DeviceKind::cpu, 0}, {{0, 1}, DeviceKind::gpu, 0}}, 3);
  s.co_tenant(0, 10, 5, 0.4);
  s.readings = sim::Readings::oracle;
  int busy = 0;
  for (std::uint64_t k = 1; k <= s.last_round(); ++k) {
    const Request request = s.request(k);
    EXPECT_EQ(request.workers[1].cpu, -1);
    EXPECT_NEAR(s.time(0, k, 10, false), 10 / request.workers[0].cpu, 1e-9);
    busy += request.workers[0].cpu < 1;
  }
  // No reading at the barrier shows a co-tenant that arrives in the coming round.
  Scenario barrier = s, late = s;
  barrier.readings = sim::Readings::barrier, late.readings = sim::Readings::late;
  int unseen = 0;
  for (std::uint64_t k = 2; k <= s.last_round(); ++k) {
    const double before = s.request(k - 1).workers[0].cpu, coming = s.request(k).workers[0].cpu;
    const double seen = barrier.request(k).workers[0].cpu;
    EXPECT_TRUE(seen == 1 || seen == 0.4) << "the load of one instant, round " << k;
    EXPECT_EQ(late.request(k).workers[0].cpu, before);
    unseen += seen == 1 && coming < 1;
  }
  EXPECT_GT(unseen, 5);
  EXPECT_GT(busy, 20);
  EXPECT_LT(busy, 120);
}

TEST(Arena, TheOracleIsTheIdeal) {
  for (const Scenario& scenario : slow_patterns()) {
    Oracle oracle(scenario.truth());
    EXPECT_DOUBLE_EQ(percent_of_ideal(scenario, oracle), 100) << scenario.name;
  }
}

TEST(Arena, BestSingleUsesTheFastestWorkerThatFits) {
  Scenario s("", 100, 3,
             {{{0, 1}, DeviceKind::gpu, 0}, {{0, 2}, DeviceKind::gpu, 0}, {{0, 0.1}, DeviceKind::gpu, 0}});
  s.workers[2].max_batch = 99;
  s.network.step_ms = 5;
  EXPECT_EQ(best_single_ms(s), 3 * 105);  // the memory of the third is too small for a round
  s.scale(0, 1, 3, 4);
  EXPECT_EQ(best_single_ms(s), 3 * 205);
  EXPECT_EQ(best_single_ms(s, 3), 105);
  s.kill(0, 3);
  EXPECT_EQ(best_single_ms(s, 3), 205);
  s.kill(1, 2);
  EXPECT_EQ(best_single_ms(s), INFINITY);
}

TEST(Arena, TheProfileContainsNoDisturbance) {
  Scenario s("", 100, 3, {{{10, 1}, DeviceKind::gpu, 0}, {{0, 1, 0.01}, DeviceKind::gpu, 0}});
  const double before = s.time(1, 2, 50);
  s.scale(1, 1, 4, 2);
  EXPECT_DOUBLE_EQ(s.profile().of("", 0)(50), 0.060);
  EXPECT_DOUBLE_EQ(s.profile().of("", 1)(50), before / 1000);
}

TEST(Arena, ARoundTakesItsSlowestWorkerAndTheExchange) {
  Scenario s("", 90, 1,
             {{{0, 1}, DeviceKind::gpu, 0}, {{0, 2}, DeviceKind::gpu, 0}, {{0, 4}, DeviceKind::gpu, 0}});
  s.network.step_ms = 50;
  Equal equal;
  const Round round = play(s, equal).front();
  EXPECT_THAT(round.compute_ms, ElementsAre(30, 60, 120));
  EXPECT_EQ(round.ms, 170);
  EXPECT_NEAR(round.straggler_effect(), 90 / 70.0, 1e-12);
}

}  // namespace
}  // namespace steelyard::balancing::arena::arena_test
