#include "balancing/policy/omnilearn.h"

#include <gmock/gmock.h>

#include "tests/balancing/arena.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::omnilearn_test {
namespace {

using arena::Round;
using arena::Scenario;
using testing::Each;
using testing::ElementsAre;

// Runs one round of two workers with these times and returns the next plan.
std::vector<std::uint64_t> next(OmniLearn& policy, std::uint64_t round, std::uint64_t positions, double first,
                                double second) {
  const std::vector<std::uint64_t> shares = policy.plan({round, positions, {{.slot = 0}, {.slot = 1}}});
  policy.observe({0, round, shares[0], first}), policy.observe({1, round, shares[1], second});
  return policy.plan({round + 1, positions, {{.slot = 0}, {.slot = 1}}});
}

// Tyagi, Sharma (arXiv 2305.12213), delta_k = -X_k tau_k, by hand: 60 samples each in 1 s and 3 s. The mean
// is 2 s, tau = (-1, 1), X = (60, 20), delta = (60, -20): 120 and 40, scaled to 120 positions.
TEST(OmniLearn, MovesTheErrorTimesTheThroughput) {
  OmniLearn policy;
  EXPECT_THAT(next(policy, 1, 120, 1, 3), ElementsAre(90, 30));
}

// The same with half the gain: 60 + 30 and 60 - 10, that is 90 : 50 of 140.
TEST(OmniLearn, TheGainScalesTheMove) {
  OmniLearn policy({.gain = 0.5});
  EXPECT_THAT(next(policy, 1, 140, 1, 3), ElementsAre(90, 50));
}

// 1 s and 1.1 s: changes of 5 % and -4.5 %.
TEST(OmniLearn, NothingMovesInsideTheDeadBand) {
  OmniLearn wide({.dead_band = 0.051}), narrow({.dead_band = 0.049});
  EXPECT_THAT(next(wide, 1, 1000, 1, 1.1), Each(500u));
  EXPECT_THAT(next(narrow, 1, 1000, 1, 1.1), ElementsAre(524, 476));
}

// Rounds of 1 s each, then one of 1.2 s: the smoothed time is 1.06 s, 3 % from the mean.
TEST(OmniLearn, OneLateRoundIsSmoothedAway) {
  OmniLearn smooth, plain({.smoothing = 1});
  for (OmniLearn* policy : {&smooth, &plain}) {
    for (std::uint64_t round = 1; round < 4; ++round) EXPECT_THAT(next(*policy, round, 100, 1, 1), Each(50u));
  }
  EXPECT_THAT(next(smooth, 4, 100, 1.2, 1), Each(50u));
  EXPECT_THAT(next(plain, 4, 100, 1.2, 1), ElementsAre(45, 55));
}

// Times from a broken or lying clock change no share.
TEST(OmniLearn, ImpossibleTimesAreIgnored) {
  for (const double seconds : {1e308, 1e300, 1e-300, 0.0, -1.0}) {
    OmniLearn policy;
    EXPECT_THAT(next(policy, 1, 120, seconds, seconds), ElementsAre(60, 60)) << seconds;
    EXPECT_THAT(next(policy, 2, 120, seconds, 1), ElementsAre(60, 60)) << seconds;
  }
}

// Earlier times belong to other batch sizes, so smoothing restarts after an adjustment.
TEST(OmniLearn, AnAdjustmentResetsSmoothing) {
  OmniLearn policy;
  EXPECT_THAT(next(policy, 1, 120, 1, 3), ElementsAre(90, 30));
  EXPECT_THAT(next(policy, 2, 120, 1.5, 1.5), ElementsAre(90, 30));
  EXPECT_THAT(next(policy, 3, 120, 1.5, 1.5), ElementsAre(90, 30));
}

// With fixed costs it needs several adjustments: LBB's Table 2, with an optimum of 104 ms of compute.
TEST(OmniLearn, ApproachesTheOptimumDespiteFixedCosts) {
  OmniLearn policy({.dead_band = 0.02});
  const std::vector<Round> rounds = arena::play(Scenario("", 512, 30, arena::lbb_table_2(0)), policy);
  EXPECT_THAT(rounds[0].shares, Each(128u));
  EXPECT_LT(rounds.back().straggler_effect(), 0.06);
}

// Worker 0 also computed 25 samples of a lost worker: only its own 50 samples in 1 s count.
TEST(OmniLearn, PiecesOfLostWorkersDoNotCount) {
  OmniLearn policy;
  const Request request{1, 100, {{.slot = 0}, {.slot = 1}}};
  EXPECT_THAT(policy.plan(request), Each(50u));
  policy.observe({0, 1, 50, 1}), policy.observe({0, 1, 25, 0.5}), policy.observe({1, 1, 25, 0.5});
  EXPECT_THAT(policy.plan({2, 100, request.workers}), Each(50u));
}

}  // namespace
}  // namespace steelyard::balancing::omnilearn_test
