// Softmax of every level, compared with the plain formula in double.
#include "nn/cpu/kernel_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"

namespace steelyard::nn::softmax_test {
namespace {

class SoftmaxLevels : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (GetParam() > cpu_level()) GTEST_SKIP() << "this processor has no " << name(GetParam());
  }
};

TEST_P(SoftmaxLevels, MatchesTheFormula) {
  Random random(1);
  for (std::size_t size = 1; size <= 70; ++size) {
    for (const double spread : {1.0, 30.0, 200.0}) {
      std::vector<float> scores(size), shares(size + 1, -7);
      for (float& score : scores) score = static_cast<float>(spread * random.normal());
      const SoftmaxSums sums = softmax(scores.data(), size, 0.5F, -0.25F, shares.data(), GetParam());
      const double top = *std::max_element(scores.begin(), scores.end());
      double exponentials = 0, distances = 0;
      for (const float score : scores) {
        exponentials += std::exp(score - top);
        distances += score - top;
      }
      EXPECT_EQ(sums.top, top);
      EXPECT_NEAR(sums.exponentials, exponentials, 1e-6 * exponentials);
      EXPECT_NEAR(sums.distances, distances, 1e-5 * std::abs(distances));
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_NEAR(shares[i], 0.5 * std::exp(scores[i] - top) / exponentials - 0.25, 1e-7);
      }
      EXPECT_EQ(shares[size], -7) << "nothing is written beyond the row";
    }
  }
}

TEST_P(SoftmaxLevels, WorksInPlaceAndPropagatesNan) {
  for (const std::size_t size : {5U, 40U}) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<float> scores(size, 1);
      scores[at] = std::numeric_limits<float>::quiet_NaN();
      softmax(scores.data(), size, 1, 0, scores.data(), GetParam());
      EXPECT_TRUE(std::all_of(scores.begin(), scores.end(), [](float share) { return std::isnan(share); }));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, SoftmaxLevels, testing::Values(Level::baseline, Level::v3, Level::v4),
                         [](const auto& level) { return name(level.param); });

}  // namespace
}  // namespace steelyard::nn::softmax_test
