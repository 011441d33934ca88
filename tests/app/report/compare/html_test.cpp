// The page with the pictures.
#include "app/report/compare/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/compare/made.h"

namespace steelyard::html_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ComparePage, NeedsNothingFromOutsideAndEscapesNames) {
  Comparison comparison = made_comparison();
  comparison.name = "a<b";
  const std::string page = comparison_html({comparison});
  EXPECT_THAT(page,
              AllOf(HasSubstr("a&lt;b"), HasSubstr("it &lt;broke&gt;"), Not(HasSubstr("<broke>")),
                    HasSubstr("Accuracy against time"), HasSubstr("Percent of ideal"),
                    HasSubstr("lb-bsp bsp, seed 7: 80.00 % after 4.00 s"), HasSubstr("runs with seed 7"),
                    HasSubstr("<th>gain on equal bsp</th>"), HasSubstr("<th>efficiency</th>")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http")), Not(HasSubstr("src=")), Not(HasSubstr("url(h")),
                          Not(HasSubstr("@import"))));
}

TEST(ComparePage, CurvesLegendAndBarsOfAMethodHaveOneColour) {
  const std::string page = comparison_html({made_comparison()});
  EXPECT_THAT(page, AllOf(HasSubstr("class=\"swatch w0\" viewBox=\"0 0 30 6\"><path class=\"line\" "
                                    "d=\"M0 3H30\"/></svg>equal bsp</li>"),
                          HasSubstr("<g class=\"w1\"><path class=\"line\" data-name=\"lb-bsp bsp"),
                          HasSubstr("d=\"M0 3H30\"/></svg>lb-bsp bsp</li>"), HasSubstr("<i class=\"bar w1\""),
                          HasSubstr("<i class=\"bar w0\"")));
}

TEST(ComparePage, WithoutEvaluationsThereIsNoCurve) {
  Comparison comparison = made_comparison();
  for (Entry& entry : comparison.entries) {
    for (Trial& trial : entry.trials) trial.evaluations.clear();
  }
  EXPECT_THAT(comparison_html({comparison}), Not(HasSubstr("Accuracy against time")));
  EXPECT_THAT(comparison_html({comparison}), HasSubstr("Percent of ideal"));
}

}  // namespace
}  // namespace steelyard::html_test
