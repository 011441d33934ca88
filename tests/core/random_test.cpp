// Random numbers: identical on every machine, and random enough for their uses.
#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace steelyard::random_test {
namespace {

TEST(Random, TheMixingStepIsSplitMix64) {
  // The first values of SplitMix64 with seed 0; its state grows by the constant that mix() adds.
  EXPECT_EQ(mix(0), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(mix(0x9E3779B97F4A7C15ULL), 0x6E789E6AA1B965F4ULL);
}

TEST(Random, TheSameSeedGivesTheSameSequence) {
  Random one(5), same(5), other(6);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = one.next();
    EXPECT_EQ(value, same.next());
    equal += value == other.next() ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
}

TEST(Random, HashesDifferInEveryArgument) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 20; ++a) {
    for (std::uint64_t b = 0; b < 20; ++b) {
      for (std::uint64_t c = 0; c < 20; ++c) seen.insert(hash(a, b, c));
    }
  }
  EXPECT_EQ(seen.size(), 8000U);
  EXPECT_NE(hash(1, 2), hash(2, 1));
}

TEST(Random, UnitStaysInItsInterval) {
  EXPECT_EQ(unit(0), 0.0);
  EXPECT_LT(unit(UINT64_MAX), 1.0);
  Random random(3);
  double sum = 0, squares = 0;
  constexpr int count = 100'000;
  for (int i = 0; i < count; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / count, 1.0 / 2, 0.01);
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.01);
}

TEST(Random, BelowIsUniformAndInRange) {
  Random random(9);
  std::vector<int> hits(7);
  for (int i = 0; i < 70'000; ++i) ++hits.at(random.below(7));
  for (const int hit : hits) EXPECT_NEAR(hit, 10'000, 500);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(random.below(1), 0U);
    EXPECT_LT(random.below(UINT64_MAX), UINT64_MAX);
  }
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(4);
  constexpr int count = 100'000;
  double sum = 0, squares = 0, beyond_two = 0;
  for (int i = 0; i < count; ++i) {
    const double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.03);
  EXPECT_NEAR(beyond_two / count, 0.0455, 0.005);
}

}  // namespace
}  // namespace steelyard::random_test
