#include "balancing/cost/exchange_cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace steelyard::balancing {
namespace {

ExchangeCost after(const std::vector<double>& seconds) {
  ExchangeCost cost;
  for (const double s : seconds) cost.observe(s);
  return cost;
}

TEST(ExchangeCost, FiveAreEnough) {
  ExchangeCost cost;
  for (int i = 0; i < 4; ++i) cost.observe(1);
  EXPECT_FALSE(cost.known());
  cost.observe(1);
  EXPECT_TRUE(cost.known());
}

TEST(ExchangeCost, TheDifferenceWithoutNoiseCountsInFull) {
  EXPECT_DOUBLE_EQ(after({3, 3, 3, 3, 3}).beyond(after({1, 1, 1, 1, 1})), 2);
  EXPECT_DOUBLE_EQ(after({1, 1, 1, 1, 1}).beyond(after({1, 1, 1, 1, 1})), 0);
}

TEST(ExchangeCost, PausesDoNotCount) {
  EXPECT_DOUBLE_EQ(after({1, 1, 90, 1, 1, 1, 1, 40, 1, 1}).beyond(after({1, 1, 1, 1, 1})), 0);
}

// Two links that are alike, in rounds whose exchange varies by a third: next to nothing is left of the noise.
TEST(ExchangeCost, NoiseIsNoDifference) {
  Random random(5);
  double extra = 0, largest = 0;
  for (int trial = 0; trial < 300; ++trial) {
    ExchangeCost a, b;
    for (int i = 0; i < 15; ++i)
      a.observe(std::exp(0.3 * random.normal())), b.observe(std::exp(0.3 * random.normal()));
    const double beyond = a.median() > b.median() ? a.beyond(b) : b.beyond(a);
    extra += beyond / 300, largest = std::max(largest, beyond);
  }
  EXPECT_LT(extra, 0.03);
  EXPECT_LT(largest, 0.4);
}

TEST(ExchangeCost, WhatCannotBeIsIgnored) {
  ExchangeCost cost = after({1, 1, 1, 1, 1});
  for (const double s : {-1.0, double(NAN), double(INFINITY)}) cost.observe(s);
  EXPECT_DOUBLE_EQ(cost.median(), 1);
}

}  // namespace
}  // namespace steelyard::balancing
