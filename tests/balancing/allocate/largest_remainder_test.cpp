#include "balancing/allocate/largest_remainder.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/random.h"

namespace steelyard::balancing::largest_remainder_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

std::uint64_t sum(const std::vector<std::uint64_t>& shares) {
  return std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
}

std::vector<std::uint64_t> shares_of(std::vector<double> weights, std::uint64_t total,
                                     std::vector<Bound> bounds = {}) {
  return largest_remainder(weights, total, bounds);
}

// The example by which the survey of LB-BSP, DLB and LBB explains the rounding of DLB (Ye et al. 2023).
TEST(LargestRemainder, MatchesTheSurveyExampleOfDlb) {
  const std::vector<std::uint64_t> shares = shares_of({13.7, 16.5, 19.6, 14.2}, 64);
  EXPECT_THAT(shares, ElementsAre(14, 16, 20, 14));
  // The resulting intervals of the data set.
  const std::vector<double> ends{0.22, 0.47, 0.78, 1};
  double end = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    end += static_cast<double>(shares[i]) / 64;
    EXPECT_NEAR(end, ends[i], 0.005) << i;
  }
}

// LB-BSP (Chen et al. 2020): x_i = X v_i / sum v, at speeds 100:80:40:20.
TEST(LargestRemainder, MatchesTheLbBspSplitOf512) {
  EXPECT_THAT(shares_of({100, 80, 40, 20}, 512), ElementsAre(213, 171, 85, 43));
}

// The code published with DLB rounds up only fractions of at least one half, and gives 21 + 21 + 21 here.
TEST(LargestRemainder, ThreeEqualWorkersLoseNoPosition) {
  EXPECT_THAT(shares_of({1, 1, 1}, 64), ElementsAre(22, 21, 21));
}

TEST(LargestRemainder, SupportsFewerPositionsThanWorkers) {
  EXPECT_THAT(shares_of({1, 1, 1, 1}, 2), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(shares_of({1, 2, 3, 4}, 0), ElementsAre(0, 0, 0, 0));
}

TEST(LargestRemainder, RoundingErrorsCountAsTies) {
  EXPECT_THAT(shares_of({0.1 + 0.2, 0.3, 0.3}, 10), ElementsAre(4, 3, 3));
  EXPECT_THAT(shares_of({0.3, 0.1 + 0.2, 0.3}, 10), ElementsAre(4, 3, 3));
}

TEST(LargestRemainder, BoundedWorkersPassOnTheRest) {
  EXPECT_THAT(shares_of({4, 2, 1}, 70, {{1, 30}, {1, 100}, {1, 100}}), ElementsAre(30, 27, 13));
  EXPECT_THAT(shares_of({4, 2, 1}, 70, {{1, 100}, {1, 100}, {25, 100}}), ElementsAre(30, 15, 25));
  // A minimum and a maximum at once: each affects the share of the other worker.
  EXPECT_THAT(shares_of({8, 1, 1}, 100, {{0, 40}, {0, 100}, {35, 100}}), ElementsAre(40, 25, 35));
}

TEST(LargestRemainder, AllZeroWeightsGiveEqualShares) {
  EXPECT_THAT(shares_of({0, 0}, 7), ElementsAre(4, 3));
  EXPECT_THAT(shares_of({5, 0, 0}, 10, {{0, 4}, {0, 9}, {0, 9}}), ElementsAre(4, 3, 3));
}

TEST(LargestRemainder, InfeasibleBoundsAreRefused) {
  EXPECT_THROW(shares_of({1, 1}, 10, {{0, 4}, {0, 5}}), Failure);
}

TEST(LargestRemainder, HugeRoundsKeepTheSum) {
  const std::vector<double> weights(1000, 0.1);
  EXPECT_EQ(sum(largest_remainder(weights, most_positions)), most_positions);
}

TEST(Proportional, SolvesForTheCommonFactor) {
  const std::vector<double> weights{4, 2, 1};
  const std::vector<Bound> bounds{{0, 30}, {0, 100}, {0, 100}};
  EXPECT_THAT(proportional(weights, 70, bounds),
              ElementsAre(30, DoubleNear(80.0 / 3, 1e-9), DoubleNear(40.0 / 3, 1e-9)));
}

// For 10^5 random vectors, shares keep the sum and the bounds, and each is less than one sample off its real
// value.
TEST(LargestRemainder, KeepsTheSumForRandomVectors) {
  Random random(1);
  for (int round = 0; round < 100'000; ++round) {
    const std::size_t n = 1 + random.below(12);
    std::vector<double> weights(n);
    std::vector<Bound> bounds(n);
    std::uint64_t least = 0, most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      weights[i] = random.below(8) == 0 ? 0 : std::exp(6 * random.uniform());
      bounds[i].least = random.below(20);
      bounds[i].most = bounds[i].least + random.below(200);
      least += bounds[i].least, most += bounds[i].most;
    }
    const std::uint64_t total = least + random.below(most - least + 1);
    const std::vector<double> real = proportional(weights, total, bounds);
    const std::vector<std::uint64_t> shares = largest_remainder(weights, total, bounds);
    ASSERT_EQ(sum(shares), total) << "vector " << round;
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_GE(shares[i], bounds[i].least) << "vector " << round;
      ASSERT_LE(shares[i], bounds[i].most) << "vector " << round;
      ASSERT_LT(std::abs(static_cast<double>(shares[i]) - real[i]), 1 + 1e-6) << "vector " << round;
    }
  }
}

}  // namespace
}  // namespace steelyard::balancing::largest_remainder_test
