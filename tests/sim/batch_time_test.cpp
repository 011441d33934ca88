#include "sim/batch_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::sim::batch_time_test {
namespace {

using testing::ElementsAre;

TEST(BatchTime, PolynomialsHaveTheirLowestTermFirst) {
  EXPECT_DOUBLE_EQ(polynomial(std::vector{1.0, 2.0, 3.0}, 2), 17);
  EXPECT_DOUBLE_EQ(polynomial({}, 2), 0);
}

// 3 x^2 - x^3 peaks at 2 and never reaches that value again; x^3 - 6 x^2 + 9 x peaks at 1 and reaches the
// same value again at 4.
TEST(BatchTime, AFallingCubicIsHeldAtItsPeak) {
  EXPECT_EQ(held_polynomial(std::vector{0.0, 0.0, 3.0, -1.0}, 1), 2);
  EXPECT_EQ(held_polynomial(std::vector{0.0, 0.0, 3.0, -1.0}, 10), 4);
  const std::vector<double> dip{0, 9, -6, 1};
  EXPECT_EQ(held_polynomial(dip, 0.5), polynomial(dip, 0.5));
  EXPECT_EQ(held_polynomial(dip, 3), 4);
  EXPECT_EQ(held_polynomial(dip, 5), 20);
  EXPECT_EQ(held_polynomial(std::vector{2.5}, 7), 2.5);
  EXPECT_EQ(held_polynomial(std::vector{1.0, 0.25}, 7), 2.75);
}

// The first polynomial is x (x - 1) (x - 2) (x - 3) (x - 4).
TEST(BatchTime, AFallingPolynomialOfAnyOrderIsHeld) {
  for (const std::vector<double>& terms : {std::vector<double>{0, 24, -50, 35, -10, 1},
                                           {5, 0, 3, 0, -0.2},
                                           {1, 1, 1, 1, 1, 1},
                                           {0, 4, 0, 0, -1}}) {
    double highest = 0;
    for (double x = 0; x < 6; x += 0.001) {
      highest = std::max(highest, polynomial(terms, x));
      EXPECT_NEAR(held_polynomial(terms, x), std::max(highest, terms[0]), 1e-4) << x;
    }
  }
}

TEST(BatchTime, CurvesAreSortedMediansOfEachBatch) {
  EXPECT_THAT(as_curve({{64, 9}, {32, 5}, {32, 50}, {32, 6}, {1, 2}}),
              ElementsAre(MeasuredTime{1, 2}, MeasuredTime{32, 6}, MeasuredTime{64, 9}));
}

TEST(BatchTime, CurvesNeverDecrease) {
  EXPECT_THAT(as_curve({{1, 2}, {2, 6}, {3, 4}, {4, 5}, {5, 9}}),
              ElementsAre(MeasuredTime{1, 2}, MeasuredTime{2, 5}, MeasuredTime{3, 5}, MeasuredTime{4, 5},
                          MeasuredTime{5, 9}));
}

TEST(BatchTime, CurvesAreLinearBetweenPoints) {
  const std::vector<MeasuredTime> curve{{10, 20}, {20, 30}, {40, 70}};
  EXPECT_DOUBLE_EQ(on_curve(curve, 10), 20);
  EXPECT_DOUBLE_EQ(on_curve(curve, 15), 25);
  EXPECT_DOUBLE_EQ(on_curve(curve, 30), 50);
  EXPECT_DOUBLE_EQ(on_curve(curve, 40), 70);
  EXPECT_DOUBLE_EQ(on_curve(curve, 5), 15) << "the first segment is extended";
  EXPECT_DOUBLE_EQ(on_curve(curve, 70), 70 + 30 * 50.0 / 30) << "the slope from the first point to the last";
}

TEST(BatchTime, BelowTheFirstPointTimesAreAtLeastProportional) {
  const std::vector<MeasuredTime> steep{{10, 20}, {20, 80}};
  EXPECT_DOUBLE_EQ(on_curve(steep, 5), 10);
  EXPECT_DOUBLE_EQ(on_curve(steep, 1), 2);
}

TEST(BatchTime, OnePointGivesAProportionalTime) {
  const std::vector<MeasuredTime> curve{{10, 20}};
  for (const double samples : {1.0, 10.0, 25.0}) EXPECT_DOUBLE_EQ(on_curve(curve, samples), 2 * samples);
}

TEST(BatchTime, AStraightCurveIsItsOwnLine) {
  const auto curve = [](double samples) {
    return on_curve(std::vector<MeasuredTime>{{10, 25}, {110, 75}}, samples);
  };
  const auto line = line_through(curve, 100);
  ASSERT_EQ(line.size(), 2U);
  EXPECT_NEAR(line[0], 20, 1e-9);
  EXPECT_NEAR(line[1], 0.5, 1e-9);
  EXPECT_NEAR(polynomial(line_through(curve, 1), 1), 20.5, 1e-9);
}

}  // namespace
}  // namespace steelyard::sim::batch_time_test
