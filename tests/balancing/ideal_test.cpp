#include "balancing/ideal.h"

#include <gmock/gmock.h>

#include <cmath>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/min_max.h"
#include "core/random.h"

namespace steelyard::balancing::ideal_test {
namespace {

const std::vector<Affine> kCurves{{0.005, 0.0005}, {0.008, 0.001}, {0.020, 0.002}};
constexpr double kExchange = 0.040;

RoundTimes round_of(std::uint64_t number, const std::vector<std::uint64_t>& shares, double noise,
                    Random& random) {
  RoundTimes round{number, 0, {}};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double seconds = kCurves[i](static_cast<double>(shares[i])) * (1 + noise * random.normal());
    round.workers.push_back({static_cast<std::uint32_t>(i), shares[i], seconds});
    round.seconds = std::max(round.seconds, seconds);
  }
  round.seconds += kExchange;
  return round;
}

double longest(const std::vector<std::uint64_t>& shares) {
  double time = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    time = std::max(time, kCurves[i](static_cast<double>(shares[i])));
  return time;
}

const std::vector<std::uint64_t> kBest = min_max(kCurves, std::vector<Bound>(3), 512);

TEST(IdealMeter, IsZeroBeforeTheFirstRound) {
  const IdealMeter meter;
  EXPECT_EQ(meter.percent(), 0);
  EXPECT_EQ(meter.percent_of_last(), 0);
  EXPECT_EQ(meter.percent_from(0), 0);
}

TEST(IdealMeter, TheOptimumIsAHundredPercent) {
  IdealMeter meter;
  Random random(1);
  for (std::uint64_t k = 1; k <= 100; ++k) meter.add(round_of(k, kBest, 0, random));
  EXPECT_NEAR(meter.percent(), 100, 1);
  EXPECT_NEAR(meter.percent_of_last(), 100, 1);
}

// The truth follows from the curves: (optimum + exchange) / (equal split + exchange).
TEST(IdealMeter, AnEqualSplitGetsItsTruePercentage) {
  IdealMeter meter;
  Random random(2);
  // Shares vary, as under any active policy, so that fixed costs can be estimated at all.
  for (std::uint64_t k = 1; k <= 50; ++k) {
    const std::uint64_t extra = random.below(100);
    meter.add(round_of(k, {171 + extra, 171, 170 - extra}, 0.01, random));
  }
  for (std::uint64_t k = 51; k <= 60; ++k) meter.add(round_of(k, {171, 171, 170}, 0.01, random));
  const double truth = 100 * (longest(kBest) + kExchange) / (longest({171, 171, 170}) + kExchange);
  EXPECT_NEAR(meter.percent_from(51), truth, 3);
  EXPECT_NEAR(meter.percent_of_last(), truth, 5);
}

TEST(IdealMeter, PercentFromIgnoresEarlierRounds) {
  IdealMeter meter;
  Random random(3);
  for (std::uint64_t k = 1; k <= 10; ++k) meter.add(round_of(k, {171, 171, 170}, 0.01, random));
  const double bad = meter.percent();
  for (std::uint64_t k = 11; k <= 40; ++k) meter.add(round_of(k, kBest, 0.01, random));
  EXPECT_LT(bad, 75);
  EXPECT_GT(meter.percent_from(11), 95);
  EXPECT_GT(meter.percent(), bad);
  EXPECT_LT(meter.percent(), meter.percent_from(11));
  EXPECT_EQ(meter.percent_from(0), meter.percent());
  EXPECT_EQ(meter.percent_from(1), meter.percent());
  EXPECT_EQ(meter.percent_from(40), meter.percent_of_last());
  EXPECT_EQ(meter.percent_from(41), 0);
}

TEST(IdealMeter, TheIdealRespectsTheBoundsOfTheRound) {
  // The fastest may take at most a third of the round, so a third is its best share.
  IdealMeter meter;
  Random random(4);
  const std::vector<Bound> bounds{{1, 170}, {}, {}};
  const std::vector<std::uint64_t> best = min_max(kCurves, bounds, 512);
  for (std::uint64_t k = 1; k <= 50; ++k) {
    RoundTimes round = round_of(k, best, 0, random);
    round.workers[0].most = 170;
    meter.add(round);
  }
  EXPECT_NEAR(meter.percent_of_last(), 100, 1);
}

// 16 grains of 32: the best split into grains counts as 100 %, although a split into samples would be faster.
TEST(IdealMeter, TheIdealIsDividedInGrains) {
  constexpr std::uint64_t grain = 32;
  std::vector<Affine> of_grains = kCurves;
  for (Affine& curve : of_grains) curve.per_sample *= grain;
  std::vector<std::uint64_t> best = min_max(of_grains, std::vector<Bound>(3), 512 / grain);
  for (std::uint64_t& share : best) share *= grain;
  ASSERT_NE(best, kBest);
  IdealMeter meter, of_samples;
  Random random(1);
  for (std::uint64_t k = 1; k <= 100; ++k) {
    // Every tenth round has another split, so that fixed costs can be estimated.
    RoundTimes round = round_of(k, k % 10 == 5 ? std::vector<std::uint64_t>{256, 160, 96} : best, 0, random);
    of_samples.add(round);
    round.grain = grain;
    meter.add(round);
  }
  EXPECT_NEAR(meter.percent_of_last(), 100, 0.1);
  EXPECT_LT(of_samples.percent_of_last(), 98);
}

// 70 samples are three grains of 32, of which the last has six samples: a single worker takes the time of 70.
TEST(IdealMeter, TheLastGrainMayBeShorter) {
  IdealMeter meter;
  Random random(1);
  for (std::uint64_t k = 1; k <= 20; ++k) {
    RoundTimes round = round_of(k, {k % 2 == 0 ? 70U : 64U}, 0, random);
    round.grain = 32;
    meter.add(round);
  }
  EXPECT_NEAR(meter.percent_of_last(), 100, 0.1);
}

TEST(IdealMeter, ExchangeOutliersAreNotPartOfTheIdeal) {
  IdealMeter meter;
  Random random(5);
  for (std::uint64_t k = 1; k <= 20; ++k) meter.add(round_of(k, kBest, 0, random));
  RoundTimes stalled = round_of(21, kBest, 0, random);
  stalled.seconds *= 3;
  meter.add(stalled);
  EXPECT_NEAR(meter.percent_of_last(), 100.0 / 3, 1);
}

TEST(IdealMeter, FollowsWorkersThatLeaveAndReturn) {
  IdealMeter meter;
  Random random(6);
  for (std::uint64_t k = 1; k <= 20; ++k) meter.add(round_of(k, kBest, 0, random));
  const std::vector<std::uint64_t> pair = min_max(std::span(kCurves).first(2), std::vector<Bound>(2), 512);
  for (std::uint64_t k = 21; k <= 40; ++k) meter.add(round_of(k, pair, 0, random));
  EXPECT_NEAR(meter.percent_from(25), 100, 1);
  for (std::uint64_t k = 41; k <= 60; ++k) meter.add(round_of(k, kBest, 0, random));
  EXPECT_NEAR(meter.percent_from(45), 100, 1);
}

TEST(IdealMeter, AWorkerThatNeverComputedIsLeftOut) {
  IdealMeter meter;
  Random random(7);
  RoundTimes round = round_of(1, {512}, 0, random);
  round.workers.push_back({.slot = 1, .share = 0, .seconds = 0});
  meter.add(round);
  EXPECT_NEAR(meter.percent(), 100, 1e-6);
}

TEST(IdealMeter, ImpossibleRoundsAreIgnored) {
  IdealMeter meter;
  Random random(8);
  meter.add(round_of(5, kBest, 0, random));
  const double before = meter.percent();
  RoundTimes timeless = round_of(6, kBest, 0, random);
  timeless.seconds = 0;
  meter.add(timeless);
  meter.add({.round = 6, .seconds = 1, .workers = {}});
  meter.add({.round = 6, .seconds = NAN, .workers = {{0, 10, 1.0}}});
  meter.add(round_of(4, {500, 6, 6}, 0, random));
  meter.add(round_of(5, {500, 6, 6}, 0, random));
  EXPECT_EQ(meter.percent(), before);
}

// Far more rounds than the meter keeps marks for; the split changes every thousand rounds. The exact answer
// is summed here, round by round, from the meter's value for each round.
TEST(IdealMeter, LongRunsAreAnsweredApproximately) {
  IdealMeter meter;
  Random random(9);
  constexpr std::uint64_t rounds = 20'000;
  std::vector<double> ideal, measured;  // seconds before each round
  double ideal_sum = 0, measured_sum = 0;
  for (std::uint64_t k = 0; k < rounds; ++k) {
    const std::uint64_t extra = random.below(10) + (k / 1000 % 2 == 0 ? 0 : 150);
    const RoundTimes round = round_of(k, {171 + extra, 171, 170 - extra}, 0.01, random);
    meter.add(round);
    ideal.push_back(ideal_sum), measured.push_back(measured_sum);
    ideal_sum += meter.percent_of_last() / 100 * round.seconds, measured_sum += round.seconds;
  }
  for (std::uint64_t k = 0; k < rounds - 100; k += 333) {
    const double exact = 100 * (ideal_sum - ideal[k]) / (measured_sum - measured[k]);
    ASSERT_NEAR(meter.percent_from(k), exact, k < 15'000 ? 0.1 : 1) << "from round " << k;
  }
  EXPECT_EQ(meter.percent_from(0), meter.percent());
  EXPECT_GT(meter.percent_from(rounds - 1), 0);
  EXPECT_EQ(meter.percent_from(rounds), 0);
}

}  // namespace
}  // namespace steelyard::balancing::ideal_test
