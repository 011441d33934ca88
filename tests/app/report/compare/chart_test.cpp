// The pictures, as far as text can tell.
#include "app/report/compare/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "app/report/page/page.h"
#include "tests/app/report/compare/made.h"

namespace steelyard::chart_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// How often it stands there.
std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// In the second repeat asp failed; in the first and the third all have a curve.
TEST(CompareChart, AllCurvesAreOfOneSeed) {
  Comparison comparison = made_comparison();
  EXPECT_EQ(drawn_repeat(comparison), 0U);
  std::string chart = accuracy_chart(comparison);
  EXPECT_EQ(count(chart, "<g class=\"w"), 4U);
  EXPECT_EQ(count(chart, "seed 7:"), 4U * 3) << "a dot for each evaluation";
  EXPECT_THAT(chart,
              AllOf(Not(HasSubstr("seed 8:")), Not(HasSubstr("seed 9:")), HasSubstr("target: 80.0 %")));
  comparison.entries[1].trials[0] = failed_trial("it broke");
  EXPECT_EQ(drawn_repeat(comparison), 2U) << "where more methods have a curve";
  chart = accuracy_chart(comparison);
  EXPECT_EQ(count(chart, "seed 9:"), 4U * 3);
}

// Also of who went astray, and of who took much longer.
TEST(CompareChart, NothingIsDrawnOutside) {
  Comparison comparison = made_comparison();
  comparison.entries[1].trials[0].evaluations = {{0, 0, 0.0}, {3, 10, 0.1}, {500, 20, 0.995}};
  for (const double target : {0.0, 0.8, 1.0}) {
    comparison.target = target;
    const std::string chart = accuracy_chart(comparison);
    const std::regex point("[ML]([-0-9.]+) ([-0-9.]+)");
    std::size_t points = 0;
    for (std::sregex_iterator it(chart.begin(), chart.end(), point), end; it != end; ++it, ++points) {
      const double x = std::stod((*it)[1]), y = std::stod((*it)[2]);
      EXPECT_TRUE(0 <= x && x <= 1000 && 0 <= y && y <= 1000) << it->str();
    }
    EXPECT_GT(points, 20U);
    EXPECT_THAT(chart, AllOf(Not(HasSubstr("clip")), Not(HasSubstr("nan")), Not(HasSubstr("top:-"))));
  }
}

TEST(CompareChart, NoAxisGoesBeyondAllRight) {
  for (const double accuracy : {0.0, 0.5, 1.0}) {
    Comparison comparison = made_comparison();
    comparison.target = 0;
    for (Entry& entry : comparison.entries) {
      for (Trial& trial : entry.trials) {
        for (Evaluation& it : trial.evaluations) it.accuracy = accuracy;
      }
    }
    const std::string chart = accuracy_chart(comparison);
    EXPECT_THAT(chart, AllOf(HasSubstr(fixed(100 * accuracy, 0) + " %"), Not(HasSubstr(">100.")),
                             Not(HasSubstr(">-"))));
  }
}

// One that went astray does not press all others together.
TEST(CompareChart, ErrorsThatLieFarApartAreOnALogarithmicScale) {
  Comparison comparison = made_comparison();
  comparison.target = 0;
  for (Entry& entry : comparison.entries) {
    for (Trial& trial : entry.trials) {
      for (Evaluation& it : trial.evaluations) it.accuracy = 0.8 + 0.1 * it.accuracy;
    }
  }
  EXPECT_THAT(accuracy_chart(comparison), Not(HasSubstr("logarithmic")));
  comparison.entries[2].trials[0].evaluations = {{1, 10, 0.1}};
  EXPECT_THAT(accuracy_chart(comparison),
              AllOf(HasSubstr("logarithmic"), HasSubstr(">50 %<"), HasSubstr(">80 %<")));
  comparison.entries[1].trials[0].evaluations.back().accuracy = 1;
  EXPECT_THAT(accuracy_chart(comparison), AllOf(HasSubstr(">99 %<"), Not(HasSubstr("inf"))));
}

// Text is beside the picture, where no line can run through it, and never scaled with it.
TEST(CompareChart, NoTextInThePicture) {
  EXPECT_EQ(count(accuracy_chart(made_comparison()), "<text"), 0U);
  EXPECT_EQ(count(ideal_chart(made_comparison(), summarise(made_comparison())), "<text"), 0U);
}

TEST(CompareChart, DrawsNothingOfNothing) {
  Comparison comparison = made_comparison();
  for (Entry& entry : comparison.entries) {
    for (Trial& trial : entry.trials) trial.evaluations.clear();
  }
  EXPECT_EQ(accuracy_chart(comparison), "");
  EXPECT_EQ(ideal_chart({}, {}), "");
  EXPECT_EQ(accuracy_chart(Comparison{}), "");
}

TEST(CompareChart, ABarForEachThatHasAnIdeal) {
  EXPECT_THAT(ideal_chart(made_comparison(), summarise(made_comparison())),
              AllOf(HasSubstr("lb-bsp bsp"), HasSubstr("92.0 %"), HasSubstr("90.0 to 94.0 %"),
                    HasSubstr("width:92.00%"), Not(HasSubstr("equal asp")), Not(HasSubstr("alone"))));
}

TEST(CompareChart, BarsBeyondTheIdealStayInside) {
  Comparison comparison = made_comparison();
  comparison.entries[1].trials = {made_trial(6, 125)};
  EXPECT_THAT(ideal_chart(comparison, summarise(comparison)),
              AllOf(HasSubstr("width:100.00%"), HasSubstr("left:80.00%\">100 %"), HasSubstr("125.0 %")));
}

}  // namespace
}  // namespace steelyard::chart_test
