#include "balancing/policy/lbb.h"

#include <gmock/gmock.h>

#include "tests/balancing/arena.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::lbb_test {
namespace {

using arena::Round;
using arena::Scenario;
using testing::ElementsAre;

Profile table_2() {
  return Profile({{"", {{0.005896, 0.00059308}}},
                  {"", {{0.007151, 0.00058077}}},
                  {"", {{0.008291, 0.00060233}}},
                  {"", {{0.050982, 0.00267139}}}});
}

Request request_of(std::uint64_t round, std::uint64_t positions, std::uint32_t workers) {
  Request request{round, positions, {}};
  for (std::uint32_t slot = 0; slot < workers; ++slot) request.workers.push_back({.slot = slot});
  return request;
}

// Runs one round with these times and returns the next plan.
std::vector<std::uint64_t> after(Policy& policy, std::uint64_t round, std::uint64_t positions,
                                 const std::vector<double>& seconds) {
  const auto workers = static_cast<std::uint32_t>(seconds.size());
  const std::vector<std::uint64_t> shares = policy.plan(request_of(round, positions, workers));
  for (std::uint32_t i = 0; i < workers; ++i) policy.observe({i, round, shares[i], seconds[i]});
  return policy.plan(request_of(round + 1, positions, workers));
}

// LBB, Alg. 1 and Table 3, profile based: the exact optimum of the emulator, one sample off the printed
// 166/166/160/20.
TEST(Lbb, TheProfileGivesTheFirstSplit) {
  Lbb lbb({.profile = table_2()});
  EXPECT_THAT(lbb.plan(request_of(1, 512, 4)), ElementsAre(166, 167, 159, 20));
}

// LBB, Alg. 2: if SE (eq. 4) is below FT nothing moves, below RT one sample from the slowest to the fastest.
TEST(Lbb, ThresholdsSelectTheStep) {
  Lbb lbb;
  EXPECT_THAT(after(lbb, 1, 300, {1.00, 1.02, 1.04}), ElementsAre(100, 100, 100));  // SE 0.039
  EXPECT_THAT(after(lbb, 2, 300, {1.00, 1.02, 1.06}), ElementsAre(101, 100, 99));   // SE 0.058
  EXPECT_THAT(after(lbb, 3, 300, {1.20, 1.02, 1.25}), ElementsAre(101, 101, 98));   // SE 0.199
}

TEST(Lbb, TheFineStepKeepsTheSum) {
  Lbb lbb({.step = 4});
  EXPECT_THAT(after(lbb, 1, 300, {1.0, 1.0, 1.1}), ElementsAre(104, 100, 96));
}

// LBB, Alg. 2, rapid: T_i(b) = (CT_i - a0_i) / CB_i b + a0_i. With a0 = 0 shares are proportional to speed;
// the guard requires two such rounds.
TEST(Lbb, TheRapidStepNeedsTwoRoundsOfThree) {
  Lbb lbb;
  EXPECT_THAT(after(lbb, 1, 300, {1, 1, 4}), ElementsAre(101, 101, 98));
  EXPECT_THAT(after(lbb, 2, 300, {1.01, 1.01, 3.92}), ElementsAre(134, 133, 33));
}

// In the authors' own log of 2023-02-23, one outlier led to a rapid step and a ruined split.
TEST(Lbb, ASingleOutlierMovesFewSamples) {
  Lbb lbb({.profile = table_2()});
  after(lbb, 1, 512, {0.104, 0.104, 0.104, 0.104});
  EXPECT_THAT(after(lbb, 2, 512, {0.104, 0.955, 0.1041, 0.1042}), ElementsAre(167, 165, 160, 20));
  EXPECT_THAT(after(lbb, 3, 512, {0.104, 0.104, 0.104, 0.104}), ElementsAre(167, 165, 160, 20));
}

TEST(Lbb, AsReleasedAnOutlierRuinsTheSplitForGood) {
  LbbOptions options = lbb_as_released();
  options.profile = table_2();
  Lbb lbb(options);
  after(lbb, 1, 512, {0.104, 0.104, 0.104, 0.104});
  const auto ruined = after(lbb, 2, 512, {0.104, 0.955, 0.104, 0.104});
  EXPECT_LT(ruined[1], 40u);
  // SE is far above RT from now on, but the window stays closed: only one sample per round moves.
  const auto later = after(lbb, 3, 512, {0.133, 0.025, 0.133, 0.13});
  EXPECT_EQ(later[1], ruined[1] + 1);
}

// As released, fine tuning runs in the window for any SE; in the paper it stops at FT.
TEST(Lbb, AsReleasedFineTuningContinuesBelowTheThreshold) {
  Lbb released(lbb_as_released()), paper;
  after(released, 1, 300, {1, 1, 1.5});
  const auto before = released.plan(request_of(2, 300, 3));
  const auto now = after(released, 2, 300, {1.00, 1.01, 1.02});
  EXPECT_EQ(now[2], before[2] - 1);
  after(paper, 1, 300, {1, 1, 1.5});
  after(paper, 2, 300, {1, 1, 1.5});
  const auto settled = paper.plan(request_of(3, 300, 3));
  EXPECT_EQ(after(paper, 3, 300, {1.00, 1.01, 1.02}), settled);
}

// LBB, section 3.2.3: after a rapid step the window allows only fine steps while SE stays below its old
// value.
TEST(Lbb, TheWindowAllowsFineStepsOnly) {
  Lbb lbb({.profiled_start = false, .profile = table_2()});
  const Scenario calm("", 512, 3, arena::lbb_table_2(0));
  const std::vector<Round> rounds = arena::play(calm, lbb);
  const auto settled = lbb.plan(request_of(4, 512, 4));
  EXPECT_THAT(settled, ElementsAre(166, 167, 159, 20));
  // One round above RT inside the window moves one sample.
  const auto next = after(lbb, 4, 512, {0.150, 0.104, 0.1041, 0.1042});
  EXPECT_THAT(next, ElementsAre(165, 168, 159, 20));
}

// A nearly homogeneous cluster loses almost nothing.
TEST(Lbb, ANearlyHomogeneousClusterStaysEqual) {
  EXPECT_GT(arena::percent_of_ideal(arena::homogeneous(0.01), "lbb"), 99.5);
}

// While the slowest takes more than 1.5 times the median, it alone gives: a sample to each worker up to the
// median (section 3.2.3, where the paper has no details). As released, always one pair.
TEST(Lbb, FineTuningRelievesAMuchSlowerWorkerFirst) {
  Lbb paper, released(lbb_as_released()), alike;
  EXPECT_THAT(after(paper, 1, 400, {1, 1.1, 1.2, 4}), ElementsAre(101, 101, 100, 98));
  EXPECT_THAT(after(alike, 1, 400, {1, 1.1, 1.2, 1.25}), ElementsAre(101, 100, 100, 99));
  released.plan(request_of(1, 400, 4));
  after(released, 1, 400, {1, 1, 1, 1.3});  // a rapid step closes the window
  const auto before = released.plan(request_of(2, 400, 4));
  const auto now = after(released, 2, 400, {1, 1.1, 1.2, 4});
  EXPECT_EQ(now[3], before[3] - 1);
}

// LBB, eq. 3, allows B_i = 0: with the third worker a round takes 300 ms, without it 80.
const std::vector<arena::Machine> one_delays{
    {{5, 0.5}, DeviceKind::gpu, 0}, {{5, 0.7}, DeviceKind::gpu, 0}, {{300, 0.5}, DeviceKind::gpu, 0}};

TEST(Lbb, AWorkerThatOnlyDelaysRestsWithRareTrials) {
  Lbb lbb;
  std::vector<std::size_t> trials;
  const std::vector<Round> rounds = arena::play(Scenario("", 256, 2000, one_delays), lbb);
  for (std::size_t k = 10; k < rounds.size(); ++k) {
    if (rounds[k].share(2) == 0) continue;
    EXPECT_EQ(rounds[k].share(2), 1u) << "round " << k + 1;
    trials.push_back(k);
  }
  ASSERT_GE(trials.size(), 3u);
  EXPECT_LE(trials.size(), 8u);
  for (std::size_t i = 2; i < trials.size(); ++i)
    EXPECT_GT(trials[i] - trials[i - 1], trials[i - 1] - trials[i - 2]);
}

TEST(Lbb, TheProfileLeavesAWorkerOutFromTheFirstRound) {
  const Scenario scenario("", 256, 20, one_delays);
  Lbb lbb({.profile = scenario.profile()});
  EXPECT_EQ(arena::play(scenario, lbb)[0].share(2), 0u);
}

TEST(Lbb, AWorkerThatRecoversWorksAgain) {
  Scenario scenario("", 256, 400, std::vector<arena::Machine>(3, {{5, 0.5}, DeviceKind::gpu, 0.01}));
  scenario.add(2, 50, 100, 300);
  Lbb lbb;
  const std::vector<Round> rounds = arena::play(scenario, lbb);
  EXPECT_EQ(rounds[90].share(2), 0u);
  EXPECT_NEAR(static_cast<double>(rounds[399].share(2)), 85, 10);
}

TEST(Lbb, AWorkerThatMayNotRestKeepsASample) {
  Lbb lbb;
  Request request = request_of(0, 256, 3);
  request.workers[2].may_rest = false;
  for (request.round = 1; request.round < 60; ++request.round) {
    const auto shares = lbb.plan(request);
    ASSERT_GE(shares[2], 1u) << "round " << request.round;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const double fixed = i == 2 ? 0.3 : 0.005;
      lbb.observe({i, request.round, shares[i], fixed + 0.0005 * static_cast<double>(shares[i])});
    }
  }
}

TEST(Lbb, ShortRoundsKeepTheSplit) {
  Lbb lbb({.profile = table_2()});
  lbb.plan(request_of(1, 512, 4));
  EXPECT_THAT(lbb.plan(request_of(2, 51, 4)), ElementsAre(16, 17, 16, 2));
  EXPECT_THAT(lbb.plan(request_of(3, 512, 4)), ElementsAre(166, 167, 159, 20));
}

}  // namespace
}  // namespace steelyard::balancing::lbb_test
