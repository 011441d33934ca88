#include "balancing/cost/curves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace steelyard::balancing::cubic_test {
namespace {

// LBB (Yao et al. 2024), eq. 1, at the sizes of the released profile 2^1 ... 2^8.
TEST(Cubic, ExactTimesGiveTheirPolynomial) {
  const Cubic truth{{0.005, 6e-4, 2e-7, 3e-9}};
  std::vector<TimedBatch> batches;
  for (double b = 2; b <= 256; b *= 2) batches.push_back({b, truth(b)});
  const Cubic fitted = fit_cubic(batches);
  for (double b = 1; b <= 300; b += 7) EXPECT_NEAR(fitted(b), truth(b), 1e-9);
}

TEST(Cubic, FewSizesGiveALowerDegree) {
  const auto fit = [](std::vector<TimedBatch> batches) { return fit_cubic(batches); };
  EXPECT_NEAR(fit({{100, 0.2}})(50), 0.1, 1e-12);
  EXPECT_NEAR(fit({{100, 0.2}, {100, 0.4}})(50), 0.12, 1e-12) << "0.24 is 20 % above and 40 % below";
  EXPECT_NEAR(fit({{100, 0.2}, {200, 0.3}})(0), 0.1, 1e-12);
  EXPECT_NEAR(fit({{1, 1}, {2, 4}, {3, 9}})(4), 16, 1e-9);
  EXPECT_NEAR(fit({{100, 0.2}, {0, 5}, {50, -1}, {70, INFINITY}})(50), 0.1, 1e-12);
}

// A slow worker's share is one of the small sizes, whose times are a hundredth of the longest ones.
TEST(Cubic, SmallSizesCountAsMuchAsLargeOnes) {
  std::vector<TimedBatch> batches;
  int sign = 1;
  for (double b = 1; b <= 1024; b *= 2, sign = -sign) batches.push_back({b, 1e-3 * b * (1 + 0.05 * sign)});
  const Cubic fitted = fit_cubic(batches);
  for (const TimedBatch& it : batches) EXPECT_NEAR(fitted(it.samples) / it.seconds, 1, 0.12) << it.samples;
}

TEST(Cubic, NeverDecreases) {
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    Cubic curve;
    double scale = 1;
    for (double& term : curve.terms) term = scale * random.normal(), scale /= 100;
    double before = 0;
    for (double b = 0; b < 400; b += 0.5) {
      ASSERT_GE(curve(b), before) << "curve " << i << " at " << b;
      before = curve(b);
    }
  }
}

TEST(Cubic, AFixedCostCountsOncePerBatch) {
  const Cubic line{{5, 0.5, 0, 0}};
  EXPECT_DOUBLE_EQ(line.over({}, 100), 55);
  EXPECT_DOUBLE_EQ(line.over({.passes = 1, .steps = 4}, 100), 4 * 5 + 50);
  EXPECT_DOUBLE_EQ(line.over({.passes = 3, .steps = 4}, 100), 3 * (4 * 5 + 50));
}

TEST(Cubic, OneBatchSizeGivesAProportionalTime) {
  const Cubic line{{5, 0.5, 0, 0}};
  EXPECT_DOUBLE_EQ(line.over({.passes = 1, .steps = 4, .batch = 20}, 100), 5 * (5 + 10));
  EXPECT_DOUBLE_EQ(line.over({.passes = 1, .steps = 4, .batch = 20}, 0), 0);
  EXPECT_NEAR(line.near(100, {.passes = 1, .steps = 4, .batch = 20}).fixed, 0, 1e-9);
}

TEST(Cubic, TheTangentTouchesTheCurve) {
  const Affine same = Cubic{{5, 0.5, 0, 0}}.near(100, {.passes = 1, .steps = 4});
  EXPECT_NEAR(same.fixed, 20, 1e-9);
  EXPECT_NEAR(same.per_sample, 0.5, 1e-9);
  const Cubic bent{{5, 0.5, 0.001, 0}};
  const Affine touching = bent.near(100, {});
  EXPECT_NEAR(touching(100), bent(100), 1e-9);
  EXPECT_NEAR(touching(110), bent(110), 0.01 * bent(110));
  // A convex curve: its tangent would start below zero.
  EXPECT_EQ((Cubic{{0, 0.1, 0.01, 0}}.near(100, {}).fixed), 0);
}

TEST(Cubic, AFallingCurveIsHeldAtItsMaximum) {
  const Cubic falls_back{{0, 2, -0.01, 0}};  // maximum at 100
  EXPECT_DOUBLE_EQ(falls_back(60), 84);
  EXPECT_DOUBLE_EQ(falls_back(150), 100);
  const Cubic dips{{5, -1, 0.01, 0}};
  EXPECT_DOUBLE_EQ(dips(50), 5);
  EXPECT_DOUBLE_EQ(dips(200), 205);
}

TEST(Cubic, CurvesOverGrainsGiveTheSameTimes) {
  const Cubic curve{{3, 0.5, -0.01, 0.0002}};
  const Cubic grains = curve.over_grains(8);
  for (const double samples : {0.0, 8.0, 24.0, 60.0, 400.0}) {
    EXPECT_NEAR(grains(samples / 8), curve(samples), 1e-9) << samples;
    EXPECT_NEAR(grains.over({2, 4}, samples / 8), curve.over({2, 4}, samples), 1e-9) << samples;
  }
  EXPECT_EQ(curve.over_grains(1), curve);
}

}  // namespace
}  // namespace steelyard::balancing::cubic_test
