#include "nn/optimizer/vector.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"

namespace steelyard::nn::vector_test {
namespace {

using Floats = std::vector<float>;

Floats random_floats(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Floats values(size);
  for (float& value : values) value = static_cast<float>(random.uniform() * 2 - 1);
  return values;
}

class Vectors : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (level > cpu_level()) GTEST_SKIP() << "this processor has no " << name(level);
  }
  const Level level = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Levels, Vectors, testing::Values(Level::baseline, Level::v3, Level::v4),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(Vectors, AddsEveryElementOnceAtEveryLengthAndOffset) {
  for (std::size_t size = 0; size < 150; ++size) {
    for (const std::size_t offset : {0, 1, 3}) {
      const Floats x = random_floats(size + offset, 1);
      Floats into = random_floats(size + offset + 1, 2), wanted = into;
      for (std::size_t i = offset; i < size + offset; ++i) wanted[i] += x[i];
      add(std::span(into).subspan(offset, size), std::span(x).subspan(offset), level);
      ASSERT_EQ(into, wanted) << size << " at " << offset;
    }
  }
}

TEST_P(Vectors, SumsEveryElementOfTwoAtEveryLength) {
  for (std::size_t size = 0; size < 150; ++size) {
    const Floats x = random_floats(size, 1), y = random_floats(size, 2);
    Floats into(size + 1, 7.0F), wanted = into;
    for (std::size_t i = 0; i < size; ++i) wanted[i] = x[i] + y[i];
    sum(std::span(into).first(size), x, y, level);
    ASSERT_EQ(into, wanted) << size;
  }
}

TEST_P(Vectors, FindsANonFiniteElementAnywhere) {
  constexpr float bad[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::signaling_NaN()};
  for (const std::size_t size : {1, 2, 15, 16, 17, 64, 131}) {
    Floats x = random_floats(size, 3);
    EXPECT_TRUE(all_finite(x, level));
    for (std::size_t at = 0; at < size; ++at) {
      const float good = x[at];
      for (const float value : bad) {
        x[at] = value;
        ASSERT_FALSE(all_finite(x, level)) << value << " at " << at << " of " << size;
      }
      x[at] = good;
    }
  }
}

TEST_P(Vectors, TheLargestNumbersAreFinite) {
  using Limits = std::numeric_limits<float>;
  EXPECT_TRUE(all_finite(Floats{Limits::max(), Limits::lowest(), Limits::denorm_min(), -0.0F}, level));
  EXPECT_TRUE(all_finite({}, level));
}

TEST_P(Vectors, SumOfSquaresMatchesAPlainSum) {
  for (const std::size_t size : {0, 1, 5, 31, 32, 33, 100, 65537}) {
    const Floats x = random_floats(size + 1, 4);
    double wanted = 0;
    for (std::size_t i = 1; i <= size; ++i) wanted += double{x[i]} * x[i];
    EXPECT_NEAR(sum_of_squares(std::span(x).subspan(1), level), wanted, 1e-12 * wanted) << size;
  }
}

TEST_P(Vectors, SumOfSquaresNeitherOverflowsNorUnderflows) {
  EXPECT_DOUBLE_EQ(sum_of_squares(Floats(64, 0x1p120F), level), 0x1p246);
  EXPECT_DOUBLE_EQ(sum_of_squares(Floats(64, 0x1p-120F), level), 0x1p-234);
}

TEST_P(Vectors, SumOfSquaresDependsOnTheNumbersOnly) {
  const Floats x = random_floats(1000, 5);
  const double whole = sum_of_squares(x, level);
  for (const std::size_t offset : {1, 2, 7}) {
    Floats moved(offset);
    moved.insert(moved.end(), x.begin(), x.end());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of_squares(std::span(moved).subspan(offset), level)),
              std::bit_cast<std::uint64_t>(whole));
  }
}

// Therefore the norm of a tensor does not depend on its division into slices.
TEST_P(Vectors, SquareSumDoesNotDependOnSliceBorders) {
  const Floats x = random_floats(300, 6);
  const double whole = sum_of_squares(x, level);
  for (std::size_t first = 0; first <= 100; ++first) {
    for (const std::size_t second : {0, 1, 31, 32, 33, 100}) {
      SquareSum sum(level);
      sum.add(std::span(x).first(first));
      sum.add(std::span(x).subspan(first, second));
      sum.add(std::span(x).subspan(first + second));
      ASSERT_EQ(std::bit_cast<std::uint64_t>(sum.total()), std::bit_cast<std::uint64_t>(whole))
          << first << " and " << second;
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::vector_test
