#include "balancing/allocate/min_max.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"

namespace steelyard::balancing::min_max_test {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using Shares = std::vector<std::uint64_t>;

// The longest time of a split; a worker without samples takes no time.
double longest(const std::vector<Curve>& curves, const Shares& shares) {
  double time = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] > 0) time = std::max(time, curves[i](shares[i]));
  }
  return time;
}

// Tries all splits and returns the smallest longest time.
double brute_force(const std::vector<Curve>& curves, const std::vector<Bound>& bounds, std::uint64_t total,
                   Shares split = {}) {
  const std::size_t i = split.size();
  if (i == curves.size()) return total == 0 ? longest(curves, split) : INFINITY;
  double best = INFINITY;
  for (std::uint64_t b = bounds[i].least; b <= std::min(bounds[i].most, total); ++b) {
    split.push_back(b);
    best = std::min(best, brute_force(curves, bounds, total - b, split));
    split.pop_back();
  }
  return best;
}

// The definition, implemented literally: each sample goes to the worker that would finish first.
Shares one_by_one(const std::vector<Curve>& curves, const std::vector<Bound>& bounds, std::uint64_t total) {
  Shares shares;
  for (const Bound& bound : bounds) shares.push_back(bound.least), total -= bound.least;
  for (; total > 0; --total) {
    std::size_t best = curves.size();
    double soonest = INFINITY;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      if (shares[i] == bounds[i].most) continue;
      const double time = curves[i](shares[i] + 1);
      if (best == curves.size() || time < soonest) best = i, soonest = time;
    }
    ++shares[best];
  }
  return shares;
}

std::vector<Curve> as_curves(const std::vector<Affine>& affine) {
  std::vector<Curve> curves;
  for (const Affine& a : affine) {
    curves.emplace_back([a](std::uint64_t b) { return a(static_cast<double>(b)); });
  }
  return curves;
}

// The emulator of the four GPUs of LBB (Yao et al. 2024), exact through their table 2; times in milliseconds.
const std::vector<Affine> kLbbWorkers{
    {5.896, 0.59308}, {7.151, 0.58077}, {8.291, 0.60233}, {50.982, 2.67139}};

// Tables 2 and 3 of LBB: 167/167/158/20 measured, 166/166/160/20 from profiles. The exact optimum lies
// between them.
TEST(MinMax, FindsTheOptimumOfLbbTable2) {
  const std::vector<Bound> bounds(4);
  const Shares shares = min_max(kLbbWorkers, bounds, 512);
  EXPECT_THAT(shares, ElementsAre(166, 167, 159, 20));
  std::vector<double> times;
  for (std::size_t i = 0; i < 4; ++i) times.push_back(kLbbWorkers[i](static_cast<double>(shares[i])));
  EXPECT_THAT(*std::max_element(times.begin(), times.end()), DoubleNear(104.41, 0.005));
  EXPECT_THAT(relative_spread(times), DoubleNear(0.0033, 0.0001));
  EXPECT_EQ(min_max(as_curves(kLbbWorkers), bounds, 512), shares);
}

TEST(MinMax, RespectsTheMemoryLimitsOfLbb) {
  // B_lim of eq. 3: the small card may hold 8 samples, one of the large ones 150.
  const std::vector<Bound> bounds{{0, 150}, {}, {}, {0, 8}};
  const Shares shares = min_max(kLbbWorkers, bounds, 512);
  EXPECT_EQ(shares[0], 150u);
  EXPECT_EQ(shares[3], 8u);
  EXPECT_EQ(shares[1] + shares[2], 354u);
  EXPECT_EQ(shares, one_by_one(as_curves(kLbbWorkers), bounds, 512));
}

TEST(MinMax, RefusalsNameTheNumbers) {
  try {
    min_max(kLbbWorkers, std::vector<Bound>{{0, 100}, {0, 100}, {0, 100}, {0, 100}}, 512);
    FAIL() << "accepted bounds of 400 for 512 samples";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), testing::AllOf(testing::HasSubstr("512"), testing::HasSubstr("400")));
  }
}

// A curve that rises by random steps, some of them zero.
Curve random_steps(Random& random, std::size_t length) {
  std::vector<double> times{static_cast<double>(random.below(4))};
  while (times.size() <= length) times.push_back(times.back() + static_cast<double>(random.below(3)));
  return [times](std::uint64_t b) { return times[b]; };
}

std::vector<Bound> random_bounds(Random& random, std::size_t n, std::uint64_t total) {
  std::vector<Bound> bounds(n);
  std::uint64_t left = total, room = 0;
  for (Bound& bound : bounds) {
    bound.least = random.below(std::min<std::uint64_t>(left, 4) + 1);
    left -= bound.least;
    bound.most = std::min(total, bound.least + random.below(total + 1));
    room += bound.most;
  }
  for (Bound& bound : bounds) {
    if (room >= total) break;
    room += total - bound.most;
    bound.most = total;
  }
  return bounds;
}

TEST(MinMax, MatchesBruteForceOnSteps) {
  Random random(2);
  for (int trial = 0; trial < 600; ++trial) {
    const std::size_t n = 1 + random.below(4);
    const std::uint64_t total = random.below(n == 4 ? 25 : 41);
    std::vector<Curve> curves;
    for (std::size_t i = 0; i < n; ++i) curves.push_back(random_steps(random, total));
    const std::vector<Bound> bounds = random_bounds(random, n, total);
    const Shares shares = min_max(curves, bounds, total);
    ASSERT_EQ(longest(curves, shares), brute_force(curves, bounds, total)) << "trial " << trial;
    ASSERT_EQ(shares, one_by_one(curves, bounds, total)) << "trial " << trial;
  }
}

TEST(MinMax, MatchesBruteForceOnAffineCurves) {
  Random random(3);
  for (int trial = 0; trial < 600; ++trial) {
    const std::size_t n = 1 + random.below(4);
    const std::uint64_t total = trial < 20 ? 40 : random.below(n == 4 ? 25 : 41);
    std::vector<Affine> affine(n);
    // Small integers produce ties, which must be broken in the same way by all methods.
    for (Affine& a : affine)
      a = {static_cast<double>(random.below(6)), static_cast<double>(1 + random.below(4)) / 4};
    const std::vector<Bound> bounds = random_bounds(random, n, total);
    const Shares shares = min_max(affine, bounds, total);
    ASSERT_EQ(longest(as_curves(affine), shares), brute_force(as_curves(affine), bounds, total))
        << "trial " << trial;
    ASSERT_EQ(shares, one_by_one(as_curves(affine), bounds, total)) << "trial " << trial;
  }
}

// Too large for brute force, but not for the definition: many workers, long rounds, speeds that differ by a
// factor of a thousand.
TEST(MinMax, MatchesTheDefinitionInLargeRounds) {
  Random random(4);
  for (int trial = 0; trial < 40; ++trial) {
    const std::size_t n = 1 + random.below(60);
    std::vector<Affine> affine(n);
    for (Affine& a : affine) a = {10 * random.uniform(), std::exp(-7 * random.uniform())};
    const std::uint64_t total = random.below(20'000);
    const std::vector<Bound> bounds = random_bounds(random, n, total);
    const Shares expected = one_by_one(as_curves(affine), bounds, total);
    ASSERT_EQ(min_max(affine, bounds, total), expected) << "trial " << trial;
    ASSERT_EQ(min_max(as_curves(affine), bounds, total), expected) << "trial " << trial;
  }
}

TEST(MinMax, ConstantTimesGoToTheEarlierWorker) {
  const std::vector<Curve> flat(3, [](std::uint64_t) { return 7.0; });
  EXPECT_THAT(min_max(flat, std::vector<Bound>{{0, 400}, {0, 1'000'000}, {5, 9}}, 1000),
              ElementsAre(400, 595, 5));
  const std::vector<Curve> free(2, [](std::uint64_t) { return 0.0; });
  EXPECT_THAT(min_max(free, std::vector<Bound>(2), 1'000'000), ElementsAre(1'000'000, 0));
}

TEST(MinMax, WorksOnCurvesThatStartAtZero) {
  const std::vector<Curve> curves(2, [](std::uint64_t b) { return b <= 300 ? 0.0 : static_cast<double>(b); });
  EXPECT_THAT(min_max(curves, std::vector<Bound>(2), 500), ElementsAre(300, 200));
  EXPECT_THAT(min_max(curves, std::vector<Bound>(2), 801), ElementsAre(401, 400));
}

TEST(MinMax, InfiniteTimesMarkImpossibleShares) {
  const double never = std::numeric_limits<double>::infinity();
  const std::vector<Curve> curves{
      [=](std::uint64_t b) { return b > 10 ? never : 0.1 * static_cast<double>(b); },
      [](std::uint64_t b) { return static_cast<double>(b); }};
  EXPECT_THAT(min_max(curves, std::vector<Bound>(2), 1000), ElementsAre(10, 990));
}

// A fixed cost so large that single samples vanish in the rounding of the sum.
TEST(MinMax, WorksBelowTheResolutionOfADouble) {
  const std::vector<Affine> affine{{1e6, 1e-13}, {1e6, 1e-13}};
  EXPECT_EQ(min_max(affine, std::vector<Bound>(2), 5000),
            one_by_one(as_curves(affine), std::vector<Bound>(2), 5000));
}

TEST(MinMax, WorksInHugeRounds) {
  const std::vector<Affine> twins(8, Affine{0.001, 1e-6});
  EXPECT_THAT(min_max(twins, std::vector<Bound>(8), most_positions), Each(most_positions / 8));
}

}  // namespace
}  // namespace steelyard::balancing::min_max_test
