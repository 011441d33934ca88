// The pictures, as far as text can tell.
#include "cli/compare/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/compare/made.h"

namespace steelyard {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CompareChart, DrawsEachRunAndTheTarget) {
  const std::string chart = accuracy_chart(made_comparison());
  EXPECT_THAT(chart, AllOf(StartsWith("<svg"), HasSubstr(">target<"), HasSubstr("class=\"curve m1\""),
                           HasSubstr("class=\"curve m1 faint\""), HasSubstr("class=\"curve m3 alone\"")));
  // Eleven runs came to their end; one failed.
  std::size_t lines = 0;
  for (std::size_t at = chart.find("<polyline"); at != std::string::npos;
       at = chart.find("<polyline", at + 1))
    ++lines;
  EXPECT_EQ(lines, 11U);
}

TEST(CompareChart, DrawsNothingOfNothing) {
  Comparison comparison = made_comparison();
  for (Entry& entry : comparison.entries) {
    for (Trial& trial : entry.trials) trial.evaluations.clear();
  }
  EXPECT_EQ(accuracy_chart(comparison), "");
  EXPECT_EQ(ideal_chart(Comparison{}, {}), "");
}

TEST(CompareChart, ABarForEachThatHasAnIdeal) {
  const Comparison comparison = made_comparison();
  EXPECT_THAT(ideal_chart(comparison, summarise(comparison)),
              AllOf(HasSubstr("lb-bsp bsp"), HasSubstr("92.0 %"), HasSubstr("90.0 to 94.0 %"),
                    Not(HasSubstr("equal asp")), Not(HasSubstr("alone"))));
}

TEST(CompareChart, AxesHaveRoundSteps) {
  EXPECT_DOUBLE_EQ(axis_step(1, 5), 0.2);
  EXPECT_DOUBLE_EQ(axis_step(37, 8), 5);
  EXPECT_DOUBLE_EQ(axis_step(0.06, 6), 0.01);
  EXPECT_DOUBLE_EQ(axis_step(900, 2), 500);
}

}  // namespace
}  // namespace steelyard
