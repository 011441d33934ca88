#include "balancing/cost/cost_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace steelyard::balancing::cost_filter_test {
namespace {

using Verdict = CostFilter::Verdict;

// Feeds batches of varying size b that take (fixed + slope b) factor, with noise.
struct Feed {
  CostFilter filter;
  Random random{5};
  double fixed = 0.01, slope = 0.001, noise = 0.02;

  Verdict one(double factor = 1, double samples = 0, double cpu = -1, bool believe = false) {
    const double b = samples > 0 ? samples : 80 + 40 * random.uniform();
    return filter.observe({b, (fixed + slope * b) * factor * (1 + noise * random.normal())}, {cpu}, {cpu},
                          believe);
  }
  void many(int rounds, double factor = 1) {
    for (int i = 0; i < rounds; ++i) one(factor);
  }
  [[nodiscard]] double predicted(double samples, double cpu = -1) const {
    return filter.curve({cpu})(samples);
  }
};

TEST(CostFilter, SeparatesFixedCostAndSpeed) {
  Feed feed;
  feed.fixed = 0.05;
  for (int i = 0; i < 30; ++i) feed.one(1, i % 2 == 0 ? 40 : 160);
  EXPECT_NEAR(feed.filter.curve({}).fixed, 0.05, 0.01);
  EXPECT_NEAR(feed.predicted(300), 0.35, 0.03);
}

TEST(CostFilter, DoubtShrinksWithMeasurementsAndGrowsWithDistance) {
  Feed feed;
  feed.many(3);
  const double early = feed.filter.doubt(100);
  for (int i = 0; i < 60; ++i) feed.one(1, 100);
  EXPECT_LT(feed.filter.doubt(100), early / 2);
  EXPECT_LT(feed.filter.doubt(100), 0.01);
  EXPECT_GT(feed.filter.doubt(5), 2 * feed.filter.doubt(100));
}

// A time two standard deviations off is noise and followed; six are an accident and held back.
TEST(CostFilter, LearnsTheNoise) {
  for (const double noise : {0.01, 0.05, 0.15}) {
    for (const bool far : {false, true}) {
      Feed feed;
      feed.noise = noise;
      feed.many(200);
      const double before = feed.predicted(100);
      const double growth = far ? std::max(0.12, 6 * noise) : 2 * noise;
      feed.filter.observe({100, before * std::exp(growth)}, {}, {}, false);
      if (far) {
        EXPECT_NEAR(feed.predicted(100), before, 1e-12 * before) << noise;
      } else {
        EXPECT_GT(feed.predicted(100), (1 + 0.01 * growth) * before) << noise;
      }
    }
  }
}

TEST(CostFilter, AnAccidentChangesNothing) {
  Feed feed;
  feed.many(40);
  const Affine before = feed.filter.curve({});
  EXPECT_EQ(feed.one(5), Verdict::none);
  EXPECT_NEAR(feed.filter.curve({})(100), before(100), 1e-12);
  EXPECT_EQ(feed.one(), Verdict::accident);
  EXPECT_NEAR(feed.predicted(100), before(100), 0.03 * before(100));
}

TEST(CostFilter, TwoDeviationsInARowAreALastingChange) {
  Feed feed;
  feed.many(40);
  EXPECT_EQ(feed.one(2.5), Verdict::none);
  EXPECT_EQ(feed.one(2.5), Verdict::lasted);
  EXPECT_NEAR(feed.predicted(100), 2.5 * 0.11, 0.02);
}

TEST(CostFilter, OneDeviationIsEnoughIfBelieved) {
  Feed feed;
  feed.many(40);
  EXPECT_EQ(feed.one(2.5, 100, -1, true), Verdict::none);
  EXPECT_NEAR(feed.predicted(100), 2.5 * 0.11, 0.02);
  EXPECT_EQ(feed.one(2.5, 100), Verdict::lasted);
  EXPECT_EQ(feed.one(0.5, 100, -1, true), Verdict::none);
  EXPECT_EQ(feed.one(2.5, 100, -1, true), Verdict::accident);
}

TEST(CostFilter, AReturnToAKnownSpeedNeedsNoConfirmation) {
  Feed feed;
  feed.many(40);
  feed.many(20, 2);
  feed.one(1, 100);
  EXPECT_NEAR(feed.predicted(100), 0.11, 0.01);
}

TEST(CostFilter, ASlowRoundWithLessCpuIsNoAccident) {
  Feed feed;
  for (int i = 0; i < 40; ++i) feed.one(1, 0, 1.0);
  feed.one(2.5, 100, 0.4);
  EXPECT_NEAR(feed.predicted(100, 0.4), 2.5 * 0.11, 0.02);
  // From now on the CPU share is used for predictions.
  EXPECT_NEAR(feed.predicted(100, 1.0), 0.11, 0.03);
}

// The second measurement of a change is disturbed: the change common to both is accepted.
TEST(CostFilter, AnAccidentDuringAChangeIsIgnored) {
  Feed feed;
  feed.many(40);
  feed.one(2, 100);
  EXPECT_FALSE(feed.one(10, 100) == Verdict::accident);
  EXPECT_NEAR(feed.predicted(100), 2 * 0.11, 0.03);
  EXPECT_TRUE(feed.filter.changing({}));
  for (int i = 0; i < 4; ++i) feed.one(2, 100);
  EXPECT_FALSE(feed.filter.changing({}));
}

// A policy gives fewer samples to a slow worker. An estimate that mistakes drift for shape would conclude
// that samples cost nothing, and give this worker everything.
TEST(CostFilter, DriftInClosedLoopIsNotMistakenForShape) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Feed feed;
    feed.random = Random(seed);
    feed.one(1, 128), feed.one(1, 60);
    double level = 1;
    for (int i = 0; i < 400; ++i) {
      level = std::clamp(level * std::exp(0.03 * feed.random.normal()), 0.4, 2.5);
      const Affine curve = feed.filter.curve({});
      feed.one(level, std::max(1.0, std::round((0.11 - curve.fixed) / curve.per_sample)));
      ASSERT_GT(feed.filter.curve({}).per_sample, 0.0004 * level) << "seed " << seed << ", round " << i;
    }
  }
}

TEST(LeadingSignal, LearnsTheGain) {
  LeadingSignal signal;
  EXPECT_EQ(signal.gain(), 0);
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    const double load = random.normal();
    signal.observe(0.8 * load + 0.05 * random.normal(), load, 0.0025);
  }
  EXPECT_NEAR(signal.gain(), 0.8, 0.05);
}

// After an accident, a jitter of 2 % predicts far less than the noise of the times, which is 5 %.
TEST(LeadingSignal, OneOutlierBesideAJitterTeachesLittle) {
  LeadingSignal signal;
  for (int i = 0; i < 50; ++i) signal.observe(0, i % 2 == 0 ? 0.02 : -0.02, 0.0025);
  signal.observe(1.5, 0.02, 0.0025);
  EXPECT_LT(0.02 * signal.gain(), 0.05);
}

}  // namespace
}  // namespace steelyard::balancing::cost_filter_test
