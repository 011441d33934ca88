#include "core/text.h"

#include <gtest/gtest.h>

namespace steelyard::stats_test {
namespace {

TEST(Stats, AreZeroForEmptyInput) {
  EXPECT_EQ(mean({}), 0);
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(relative_spread({}), 0);
}

TEST(Stats, MeanOfNumbers) { EXPECT_DOUBLE_EQ(mean(std::vector{1.0, 2.0, 6.0}), 3.0); }

TEST(Stats, MedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(median({7}), 7);
  EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median({9, 1, 5, 2}), 3.5);
  EXPECT_DOUBLE_EQ(median({2, 2, 2, 1000}), 2);
}

TEST(Stats, RelativeSpreadIsTheStragglerEffect) {
  EXPECT_DOUBLE_EQ(relative_spread(std::vector{2.0, 2.0, 2.0}), 0);
  EXPECT_DOUBLE_EQ(relative_spread(std::vector{1.0, 2.0, 3.0}), 1.0);  // (3 - 1) / 2
  EXPECT_EQ(relative_spread(std::vector{-1.0, 1.0}), 0) << "the mean is zero";
}

}  // namespace
}  // namespace steelyard::stats_test
