#include "balancing/cost/curves.h"

#include <gtest/gtest.h>

#include <array>

#include "core/random.h"

namespace steelyard::balancing::forgetting_line_test {
namespace {

TEST(ForgettingLine, ExactTimesGiveTheLine) {
  ForgettingLine line;
  for (const double b : {128.0, 34.0, 20.0}) line.add({b, 0.050982 + 0.00267139 * b});
  EXPECT_NEAR(line.curve().fixed, 0.050982, 1e-9);
  EXPECT_NEAR(line.curve().per_sample, 0.00267139, 1e-11);
}

// The textbook recursion, K = P x / (lambda + x' P x), with a very large initial P gives the same line.
TEST(ForgettingLine, IsRecursiveLeastSquares) {
  Random random(3);
  ForgettingLine line(0.95);
  std::array<double, 2> w{};
  std::array<std::array<double, 2>, 2> P{{{1e9, 0}, {0, 1e9}}};
  for (int k = 0; k < 80; ++k) {
    const double b = 50 + 50 * random.uniform(), t = 3 + 0.1 * b + 0.05 * random.normal();
    line.add({b, t});
    const std::array<double, 2> px{P[0][0] + P[0][1] * b, P[1][0] + P[1][1] * b};
    const double spread = 0.95 + px[0] + px[1] * b, error = t - w[0] - w[1] * b;
    for (std::size_t i = 0; i < 2; ++i) w[i] += px[i] / spread * error;
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j) P[i][j] = (P[i][j] - px[i] * px[j] / spread) / 0.95;
    }
  }
  EXPECT_NEAR(line.curve().fixed, w[0], 1e-4);
  EXPECT_NEAR(line.curve().per_sample, w[1], 1e-6);
}

TEST(ForgettingLine, OneSizeOrAWrongSignGivesTheLineThroughTheOrigin) {
  ForgettingLine one_size, falling;
  for (int i = 0; i < 5; ++i) one_size.add({100, 2});
  EXPECT_EQ(one_size.curve().fixed, 0);
  EXPECT_NEAR(one_size.curve().per_sample, 0.02, 1e-12);
  falling.add({100, 2}), falling.add({50, 3});
  EXPECT_EQ(falling.curve().fixed, 0);
  EXPECT_GT(falling.curve().per_sample, 0);
}

TEST(ForgettingLine, OldMeasurementsLoseWeight) {
  ForgettingLine line;
  for (int i = 0; i < 50; ++i) line.add({100 + i % 3 * 10.0, 1 + 0.01 * (100 + i % 3 * 10)});
  for (int i = 0; i < 150; ++i) line.add({100 + i % 3 * 10.0, 2 + 0.03 * (100 + i % 3 * 10)});
  EXPECT_NEAR(line.curve()(110), 5.3, 0.01);
}

}  // namespace
}  // namespace steelyard::balancing::forgetting_line_test
