#include "balancing/cost/exchange_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace steelyard::balancing::exchange_cost_test {
namespace {

ExchangeCost after(const std::vector<double>& seconds) {
  ExchangeCost cost;
  for (const double s : seconds) cost.observe(s, false);
  return cost;
}

TEST(ExchangeCost, NeedsFiveMeasurements) {
  EXPECT_EQ(after({1, 1, 1, 1}).surely(), 0);
  EXPECT_DOUBLE_EQ(after({1, 1, 1, 1, 1}).surely(), 1);
}

TEST(ExchangeCost, IgnoresPauses) {
  EXPECT_DOUBLE_EQ(after({0, 0, 90, 0, 0, 0, 0, 40, 0, 0}).surely(), 0);
  EXPECT_DOUBLE_EQ(after({2, 2, 90, 2, 2, 2, 2, 40, 2, 2}).surely(), 2);
}

// Two equal links with exchanges that vary by a third: the estimated difference must be close to 0.
TEST(ExchangeCost, NoiseBetweenEqualLinksIsNoCost) {
  Random random(5);
  double extra = 0, largest = 0;
  for (int trial = 0; trial < 300; ++trial) {
    ExchangeCost cost;
    for (int i = 0; i < 15; ++i) {
      const double ours = std::exp(0.3 * random.normal()), theirs = std::exp(0.3 * random.normal());
      cost.observe(std::max(0.0, ours - theirs), false);
    }
    extra += cost.surely() / 300, largest = std::max(largest, cost.surely());
  }
  EXPECT_LT(extra, 0.03);
  EXPECT_LT(largest, 0.7);
}

TEST(ExchangeCost, TwoDeviationsInARowAreAChange) {
  std::vector<double> seconds(15, 1.0);
  seconds.push_back(4);
  EXPECT_DOUBLE_EQ(after(seconds).surely(), 1) << "one deviation may be an accident";
  seconds.push_back(4);
  EXPECT_DOUBLE_EQ(after(seconds).surely(), 4);
  seconds.push_back(1);
  EXPECT_NEAR(after(seconds).surely(), 4, 1e-9);
  seconds.push_back(1);
  EXPECT_NEAR(after(seconds).surely(), 1, 1e-9) << "two more measurements bring it back";
}

TEST(ExchangeCost, OneDeviationAfterARestIsAChange) {
  ExchangeCost cost = after(std::vector<double>(15, 4.0));
  cost.observe(0, true);
  EXPECT_EQ(cost.surely(), 0);
}

TEST(ExchangeCost, AnUnchangedTimeAfterARestIsNoChange) {
  ExchangeCost cost = after(std::vector<double>(15, 4.0));
  cost.observe(4.2, true);
  EXPECT_DOUBLE_EQ(cost.surely(), 4);
}

TEST(ExchangeCost, ImpossibleTimesAreIgnored) {
  ExchangeCost cost = after({1, 1, 1, 1, 1});
  for (const double s : {-1.0, double(NAN), double(INFINITY)}) cost.observe(s, true);
  EXPECT_DOUBLE_EQ(cost.surely(), 1);
}

}  // namespace
}  // namespace steelyard::balancing::exchange_cost_test
