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

// Whoever else is on it, and in whatever order.
TEST(ComparePage, AMethodHasOneColourOnEveryPage) {
  const auto colour_of = [](const std::string& page, const std::string& method) {
    const std::size_t at = page.find("</svg>" + method + "</li>");
    const std::size_t style = page.rfind("style=\"", at);
    return at == std::string::npos ? "" : page.substr(style, page.find('"', style + 7) - style);
  };
  Comparison comparison = made_comparison();
  const std::string page = comparison_html({comparison});
  std::swap(comparison.entries[0], comparison.entries[2]);
  comparison.entries.erase(comparison.entries.begin());
  const std::string other = comparison_html({comparison});
  EXPECT_THAT(colour_of(page, "lb-bsp bsp"), HasSubstr("--h:75"));
  EXPECT_EQ(colour_of(page, "lb-bsp bsp"), colour_of(other, "lb-bsp bsp"));
  EXPECT_EQ(colour_of(page, "equal bsp"), colour_of(other, "equal bsp"));
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
