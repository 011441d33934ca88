#include "balancing/policy/cannikin.h"

#include <gmock/gmock.h>

#include "tests/balancing/arena.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::cannikin_test {
namespace {

using arena::Round;
using arena::Scenario;
using testing::Each;
using testing::ElementsAre;

// Cannikin (Nie, Maghakian, Liu 2024), the two regimes computed by hand: c(b) = 10 + b, T = 40, of which
// Tu = 10 and To = 30; gradients are sent during the second half of the compute; the pull takes 40.
TEST(Cannikin, TheRestOfTheBackwardPassHidesTheExchange) {
  const OverlappedTime time{{10, 1}, 40, 0.5, 0.25};
  EXPECT_DOUBLE_EQ(time(100), 40 + 110 + 10);     // 55 of compute hide 30: compute bound
  EXPECT_DOUBLE_EQ(time(20), 40 + 15 + 30 + 10);  // 15 of compute do not: exchange bound
  EXPECT_DOUBLE_EQ(time(50), 40 + 60 + 10) << "the border: 30 hide 30";
  const OverlappedTime no_overlap{{10, 1}, 40, 0, 1};
  EXPECT_DOUBLE_EQ(no_overlap(100), 40 + 110 + 40);
}

// The split after eight rounds of two workers that take 1 s a sample; one waits 30 s longer.
std::vector<std::uint64_t> split_of(std::uint64_t positions, CannikinOptions options) {
  Cannikin policy(options);
  std::vector<std::uint64_t> shares;
  for (std::uint64_t round = 1; round <= 8; ++round) {
    shares = policy.plan({round, positions, {{.slot = 0}, {.slot = 1}}});
    for (std::uint32_t slot : {0u, 1u}) {
      const double own = slot == 0 ? 0 : 30;
      policy.observe({slot, round, shares[slot], static_cast<double>(shares[slot]), -1, -1, 95 + own});
    }
  }
  return shares;
}

// Cannikin's three cases, computed by hand, with T = 30, Tu = 10, overlap 1/2. Worker 0 takes b. Worker 1
// takes 30 + b + 10 if b/2 hides 20, else 30 + b/2 + 30.
TEST(Cannikin, AllWorkersFinishTogether) {
  const CannikinOptions options{.overlap = 0.5, .last = 1.0 / 3};
  EXPECT_THAT(split_of(200, options), ElementsAre(120, 80)) << "compute bound: 120 = 40 + 80";
  EXPECT_THAT(split_of(90, options), ElementsAre(70, 20)) << "exchange bound: 70 = 60 + 20 / 2";
  EXPECT_THAT(split_of(120, options), ElementsAre(80, 40)) << "the border: 80 = 40 + 40";
  EXPECT_THAT(split_of(90, {.overlap = 0, .last = 0}), ElementsAre(75, 15)) << "no overlap: 75 = 60 + 15";
}

// If exchange and overlap are the same for all, the split is the optimum of LBB's Table 2 for any overlap.
TEST(Cannikin, OverlapHasNoEffectWithEqualLinks) {
  for (const double overlap : {0.0, 0.5, 0.9}) {
    Cannikin policy({.overlap = overlap});
    const std::vector<Round> rounds = arena::play(Scenario("", 512, 8, arena::lbb_table_2(0)), policy);
    EXPECT_THAT(rounds[0].shares, Each(128u));
    EXPECT_THAT(rounds.back().shares, ElementsAre(166, 167, 159, 20)) << overlap;
  }
}

// The start in the paper: after one batch size of each worker, shares are proportional to speed.
TEST(Cannikin, TheSecondRoundIsProportionalToSpeed) {
  Cannikin policy;
  const Scenario scenario(
      "", 700, 2, {{{0, 1}, DeviceKind::gpu, 0}, {{0, 2}, DeviceKind::gpu, 0}, {{0, 4}, DeviceKind::gpu, 0}});
  EXPECT_THAT(arena::play(scenario, policy).back().shares, ElementsAre(400, 200, 100));
}

TEST(Cannikin, ForgettingFollowsAChangeOfSpeed) {
  Scenario scenario("", 512, 60, arena::lbb_table_2(0));
  scenario.scale(0, 20, 61, 3);
  Cannikin never, soon({.forgetting = 0.8});
  const double kept = arena::play(scenario, never).back().straggler_effect();
  EXPECT_LT(arena::play(scenario, soon).back().straggler_effect(), 0.02);
  EXPECT_GT(kept, 0.2);
}

}  // namespace
}  // namespace steelyard::balancing::cannikin_test
