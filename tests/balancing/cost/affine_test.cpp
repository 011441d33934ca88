#include "balancing/cost/curves.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace steelyard::balancing::affine_test {
namespace {

std::vector<TimedBatch> measured(Affine truth, const std::vector<double>& sizes, double noise,
                                 Random& random) {
  std::vector<TimedBatch> batches;
  for (const double b : sizes) batches.push_back({b, truth(b) * (1 + noise * random.normal())});
  return batches;
}

std::vector<double> sizes_between(double low, double high, int count) {
  std::vector<double> sizes;
  for (int i = 0; i < count; ++i) sizes.push_back(std::round(low + (high - low) * i / (count - 1)));
  return sizes;
}

// Table 2 of LBB (Yao et al. 2024): the GTX 1070 at 128 and 167 samples, milliseconds.
TEST(FitAffine, FitsTheTwoPointsOfLbbTable2) {
  const Affine curve = fit_affine(std::vector<TimedBatch>{{128, 81.81}, {167, 104.94}});
  EXPECT_NEAR(curve.per_sample, 0.59308, 0.001);
  EXPECT_NEAR(curve.fixed, 5.896, 0.1);
}

TEST(FitAffine, RecoversTheCurveUnderNoise) {
  Random random(1);
  const Affine truth{0.050, 0.0025};
  const Affine curve = fit_affine(measured(truth, sizes_between(16, 128, 64), 0.02, random));
  EXPECT_NEAR(curve.per_sample, truth.per_sample, 0.02 * truth.per_sample);
  EXPECT_NEAR(curve.fixed, truth.fixed, 0.1 * truth.fixed);
}

TEST(FitAffine, OneBatchSizeGivesTheLineThroughTheOrigin) {
  const Affine curve = fit_affine(std::vector<TimedBatch>{{100, 0.2}, {100, 0.2}, {100, 0.21}, {100, 0.19}});
  EXPECT_NEAR(curve.fixed, 0, 1e-9);
  EXPECT_NEAR(curve.per_sample, 0.002, 1e-5);
  EXPECT_NEAR(fit_affine(std::vector<TimedBatch>{{64, 0.32}})(128), 0.64, 1e-9);
}

// 170 to 172 samples at 5 % noise: plain least squares would give slopes of either sign, several times the
// true one.
TEST(FitAffine, NearlyEqualBatchSizesGiveNoSteepSlope) {
  const Affine truth{0.010, 0.001};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Affine curve = fit_affine(measured(truth, sizes_between(170, 172, 30), 0.05, random));
    EXPECT_NEAR(curve(171), truth(171), 0.05 * truth(171)) << "seed " << seed;
    EXPECT_NEAR(curve(100), truth(100), 0.25 * truth(100)) << "seed " << seed;
  }
}

TEST(FitAffine, AQuarterOfOutliersMovesTheFitLittle) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Affine truth{0.020, 0.001};
    std::vector<TimedBatch> batches = measured(truth, sizes_between(20, 200, 40), 0.02, random);
    for (std::size_t i = 0; i < batches.size(); i += 4) batches[i].seconds *= 2 + 8 * random.uniform();
    const Affine curve = fit_affine(batches);
    for (const double b : {20.0, 100.0, 200.0})
      EXPECT_NEAR(curve(b), truth(b), 0.06 * truth(b)) << "seed " << seed;
  }
}

TEST(FitAffine, CurvesAreNeverNegativeOrFlat) {
  const Affine falling = fit_affine(std::vector<TimedBatch>{{10, 0.3}, {100, 0.2}, {200, 0.1}});
  EXPECT_GT(falling.per_sample, 0);
  EXPECT_GE(falling.fixed, 0);
  const Affine steep = fit_affine(std::vector<TimedBatch>{{100, 0.1}, {150, 0.2}, {200, 0.3}});
  EXPECT_EQ(steep.fixed, 0);
  EXPECT_GT(steep.per_sample, 0);
}

TEST(FitAffine, FlatTimesKeepTheirFixedCost) {
  Random random(5);
  const Affine curve = fit_affine(measured({0.030, 1e-9}, sizes_between(4, 64, 40), 0.01, random));
  EXPECT_NEAR(curve.fixed, 0.030, 0.002);
  EXPECT_NEAR(curve(64), 0.030, 0.002);
}

TEST(FitAffine, ImpossibleBatchesAreIgnored) {
  const std::vector<TimedBatch> clean{{10, 0.1}, {20, 0.2}};
  std::vector<TimedBatch> dirty = clean;
  for (const TimedBatch bad :
       {TimedBatch{0, 1}, TimedBatch{5, 0}, TimedBatch{5, NAN}, TimedBatch{5, INFINITY}}) {
    dirty.push_back(bad);
  }
  EXPECT_EQ(fit_affine(dirty), fit_affine(clean));
}

}  // namespace
}  // namespace steelyard::balancing::affine_test
