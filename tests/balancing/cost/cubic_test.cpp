#include "balancing/cost/cubic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace steelyard::balancing {
namespace {

// LBB (Yao et al. 2024), eq. 1, at the sizes of the released profile 2^1 ... 2^8.
TEST(Cubic, ExactTimesGiveTheirPolynomialBack) {
  const Cubic truth{{0.005, 6e-4, 2e-7, 3e-9}};
  std::vector<TimedBatch> batches;
  for (double b = 2; b <= 256; b *= 2) batches.push_back({b, truth(b)});
  const Cubic fitted = fit_cubic(batches);
  for (double b = 1; b <= 300; b += 7) EXPECT_NEAR(fitted(b), truth(b), 1e-9);
}

TEST(Cubic, FewSizesGiveALowerDegree) {
  const auto fit = [](std::vector<TimedBatch> batches) { return fit_cubic(batches); };
  EXPECT_NEAR(fit({{100, 0.2}})(50), 0.1, 1e-12);
  EXPECT_NEAR(fit({{100, 0.2}, {100, 0.4}})(50), 0.15, 1e-12);
  EXPECT_NEAR(fit({{100, 0.2}, {200, 0.3}})(0), 0.1, 1e-12);
  EXPECT_NEAR(fit({{1, 1}, {2, 4}, {3, 9}})(4), 16, 1e-9);
  EXPECT_NEAR(fit({{100, 0.2}, {0, 5}, {50, -1}, {70, INFINITY}})(50), 0.1, 1e-12);
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

TEST(Cubic, TheClampHoldsTheHighestPoint) {
  const Cubic falls_back{{0, 2, -0.01, 0}};  // highest at 100
  EXPECT_DOUBLE_EQ(falls_back(60), 84);
  EXPECT_DOUBLE_EQ(falls_back(150), 100);
  const Cubic dips{{5, -1, 0.01, 0}};
  EXPECT_DOUBLE_EQ(dips(50), 5);
  EXPECT_DOUBLE_EQ(dips(200), 205);
}

}  // namespace
}  // namespace steelyard::balancing
