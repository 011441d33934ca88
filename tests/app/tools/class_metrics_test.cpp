#include "app/tools/class_metrics.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace steelyard::class_metrics_test {
namespace {

// Rows of scores, with their labels.
using Rows = std::vector<std::pair<std::vector<float>, std::uint32_t>>;

ClassMetrics metrics_of(std::uint32_t classes, const Rows& rows, bool keep_scores = true) {
  ClassMetrics metrics(classes, keep_scores);
  for (const auto& [scores, label] : rows) metrics.add(scores, label);
  return metrics;
}

// Labels 0 0 0 1 1 2, predictions 0 0 1 1 2 1.
const Rows six{{{3, 0, 0}, 0}, {{3, 1, 0}, 0}, {{0, 3, 0}, 0},
               {{0, 3, 1}, 1}, {{0, 1, 2}, 1}, {{0, 2, 1}, 2}};

TEST(ClassMetrics, CountsEachClass) {
  const ClassMetrics metrics = metrics_of(3, six);
  EXPECT_EQ(metrics.counts()[0].precision(), 1);
  EXPECT_EQ(metrics.counts()[0].recall(), 2.0 / 3);
  EXPECT_EQ(metrics.counts()[1].precision(), 1.0 / 3);
  EXPECT_EQ(metrics.counts()[1].recall(), 0.5);
  EXPECT_EQ(metrics.counts()[2].f1(), 0);
  EXPECT_NEAR(metrics.counts()[0].f1(), 0.8, 1e-12);
  EXPECT_NEAR(metrics.macro_f1(), (0.8 + 0.4 + 0) / 3, 1e-12);
}

TEST(ClassMetrics, ClassesWithoutSamplesDoNotLowerTheMean) {
  EXPECT_EQ(metrics_of(4, {{{1, 0, 0, 0}, 0}, {{0, 1, 0, 0}, 1}}).macro_f1(), 1);
  EXPECT_EQ(metrics_of(4, {}).macro_f1(), 0);
}

TEST(ClassMetrics, TopAccuracyTakesTheFiveHighest) {
  const std::vector<float> scores{6, 5, 4, 3, 2, 1, 0};
  EXPECT_NEAR(metrics_of(7, {{scores, 0}, {scores, 4}, {scores, 5}}).top_accuracy(), 2.0 / 3, 1e-12);
  const std::vector<float> equal(7, 1.0F);
  EXPECT_EQ(metrics_of(7, {{equal, 4}}).top_accuracy(), 1) << "the first of equal scores";
  EXPECT_EQ(metrics_of(7, {{equal, 5}}).top_accuracy(), 0);
}

// There are 2 x 3 pairs: the positive sample is higher in 4 of them and equal in 1.
TEST(ClassMetrics, AucIsTheShareOfOrderedPairs) {
  const Rows rows{{{0, 1}, 0}, {{0, 2}, 0}, {{0, 3}, 0}, {{0, 2}, 1}, {{0, 4}, 1}};
  EXPECT_NEAR(metrics_of(2, rows).auc().value(), 4.5 / 6, 1e-12);
}

TEST(ClassMetrics, AucOfConfidentPredictionsIsExact) {
  const Rows rows{{{0, 100}, 0}, {{0, 200}, 1}, {{0, 300}, 1}};
  EXPECT_EQ(metrics_of(2, rows).auc().value(), 1) << "each softmax is 1 in floats";
}

TEST(ClassMetrics, AucIsTheMeanOverClasses) {
  const Rows rows{{{9, 0, 0}, 0}, {{0, 9, 0}, 1}, {{0, 8, 0}, 0}, {{0, 0, 9}, 1}};
  EXPECT_NEAR(metrics_of(3, rows).auc().value(), (1 + 2.5 / 4) / 2, 1e-12) << "class 2 has no samples";
}

TEST(ClassMetrics, AucNeedsTwoClassesAndScores) {
  EXPECT_FALSE(metrics_of(2, {{{0, 1}, 1}}).auc());
  EXPECT_FALSE(metrics_of(2, {{{0, 1}, 1}, {{0, 1}, 0}}, false).auc());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(metrics_of(2, {{{0, nan}, 1}, {{0, 1}, 0}}).auc());
}

TEST(ClassMetrics, PartsAddUp) {
  ClassMetrics sum = metrics_of(3, {six.begin(), six.begin() + 2});
  sum += metrics_of(3, {six.begin() + 2, six.end()});
  const ClassMetrics whole = metrics_of(3, six);
  EXPECT_EQ(sum.macro_f1(), whole.macro_f1());
  EXPECT_EQ(sum.auc(), whole.auc());
  EXPECT_EQ(sum.top_accuracy(), whole.top_accuracy());
}

}  // namespace
}  // namespace steelyard::class_metrics_test
