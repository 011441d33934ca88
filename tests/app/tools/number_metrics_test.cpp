#include "app/tools/number_metrics.h"

#include <gtest/gtest.h>

#include <array>

namespace steelyard::number_metrics_test {
namespace {

void add(NumberMetrics& to, double predicted, double actual) {
  to.add(std::array{predicted}, std::array{actual});
}

// The same numbers as of scikit-learn's example of r2_score: actual 3, -0.5, 2, 7; predicted 2.5, 0, 2, 8.
TEST(NumberMetrics, MatchPublishedNumbers) {
  NumberMetrics metrics(1);
  add(metrics, 2.5, 3), add(metrics, 0, -0.5), add(metrics, 2, 2), add(metrics, 8, 7);
  EXPECT_NEAR(metrics.targets()[0].rmse(), 0.612372, 1e-6);
  EXPECT_NEAR(metrics.targets()[0].mae(), 0.5, 1e-12);
  EXPECT_NEAR(metrics.targets()[0].r2().value(), 0.948608, 1e-6);
  EXPECT_EQ(metrics.mean_r2(), metrics.targets()[0].r2());
}

TEST(NumberMetrics, PartsGiveTheSameAsTheWhole) {
  NumberMetrics whole(2), first(2), second(2), none(2);
  for (int i = 0; i < 20; ++i) {
    const std::array actual{1e9 + i % 7, 0.25 * i}, predicted{1e9 + i % 5, 0.25 * i + i % 3};
    whole.add(predicted, actual);
    (i < 6 ? first : second).add(predicted, actual);
  }
  none += first;
  none += second;
  none += NumberMetrics(2);
  for (std::size_t t = 0; t < 2; ++t) {
    EXPECT_NEAR(none.targets()[t].rmse(), whole.targets()[t].rmse(), 1e-9);
    EXPECT_NEAR(none.targets()[t].mae(), whole.targets()[t].mae(), 1e-9);
    EXPECT_NEAR(none.targets()[t].r2().value(), whole.targets()[t].r2().value(), 1e-6);
  }
  EXPECT_NEAR(none.mean_r2().value(), (none.targets()[0].r2().value() + none.targets()[1].r2().value()) / 2,
              1e-12);
}

TEST(NumberMetrics, EqualTargetsHaveNoR2) {
  NumberMetrics metrics(1);
  add(metrics, 1, 5), add(metrics, 9, 5);
  EXPECT_EQ(metrics.targets()[0].r2(), std::nullopt);
  EXPECT_EQ(metrics.mean_r2(), std::nullopt);
  EXPECT_DOUBLE_EQ(metrics.targets()[0].mae(), 4);
}

}  // namespace
}  // namespace steelyard::number_metrics_test
