#include "balancing/cost/correlation.h"

#include <gtest/gtest.h>

#include <array>

namespace steelyard::balancing::correlation_test {
namespace {

TEST(Correlation, PearsonIsOneForALine) {
  EXPECT_DOUBLE_EQ(pearson(std::array{1.0, 2.0, 4.0}, std::array{3.0, 5.0, 9.0}), 1);
  EXPECT_DOUBLE_EQ(pearson(std::array{1.0, 2.0, 4.0}, std::array{-3.0, -5.0, -9.0}), -1);
  EXPECT_NEAR(pearson(std::array{1.0, 2.0, 3.0}, std::array{1.0, 3.0, 2.0}), 0.5, 1e-12);
}

TEST(Correlation, SpearmanIsOneForAnyRisingCurve) {
  EXPECT_DOUBLE_EQ(spearman(std::array{1.0, 2.0, 4.0, 8.0}, std::array{1.0, 1.1, 50.0, 60.0}), 1);
  EXPECT_DOUBLE_EQ(spearman(std::array{1.0, 2.0, 3.0}, std::array{9.0, 7.0, 1.0}), -1);
}

// Ranks 1.5, 1.5, 3 against 1, 2, 3.
TEST(Correlation, EqualNumbersShareTheirRanks) {
  EXPECT_NEAR(spearman(std::array{5.0, 5.0, 8.0}, std::array{1.0, 2.0, 3.0}), 0.8660254, 1e-6);
}

TEST(Correlation, AConstantCorrelatesWithNothing) {
  EXPECT_EQ(pearson(std::array{1.0, 1.0}, std::array{1.0, 2.0}), 0);
  EXPECT_EQ(spearman(std::array{1.0, 2.0}, std::array{3.0, 3.0}), 0);
}

}  // namespace
}  // namespace steelyard::balancing::correlation_test
