// The page with the pictures.
#include "cli/compare/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/compare/made.h"

namespace steelyard {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ComparePage, NeedsNothingFromOutsideAndEscapesNames) {
  Comparison comparison = made_comparison();
  comparison.name = "a<b";
  const std::string page = comparison_html({comparison});
  EXPECT_THAT(page, AllOf(HasSubstr("a&lt;b"), HasSubstr("it &lt;broke&gt;"), Not(HasSubstr("<broke>")),
                          HasSubstr("Accuracy against time"), HasSubstr("Percent of ideal"),
                          HasSubstr("lb-bsp bsp, repeat 2: 80.00 % after 4.00 s")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http")), Not(HasSubstr("src=")), Not(HasSubstr("url(h")),
                          Not(HasSubstr("<script"))));
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
}  // namespace steelyard
