// The frame of all pages, and its small parts.
#include "app/report/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace steelyard::page_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Page, HasStyleScriptAndBody) {
  EXPECT_THAT(page("a<b", "<p>body</p>"),
              AllOf(HasSubstr("<title>a&lt;b</title>"), HasSubstr("prefers-color-scheme: dark"),
                    HasSubstr("addEventListener"), HasSubstr("<p>body</p>")));
}

TEST(Page, NamesAndReasonsAreText) {
  EXPECT_EQ(escaped("<b>\"&\033[2J\xC2\x9B"), "&lt;b&gt;&quot;&amp;\\x1b[2J\\x9b");
  EXPECT_THAT(html_table({{"a"}, {"<b>"}}), AllOf(HasSubstr("<th>a</th>"), HasSubstr("<td>&lt;b&gt;</td>")));
  EXPECT_THAT(legend_item("w1", "<b>"), HasSubstr("&lt;b&gt;"));
}

TEST(Page, NumbersHaveTheDigitsThatCount) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.01234), "0.0123");
  EXPECT_EQ(short_number(4.5678), "4.57");
  EXPECT_EQ(short_number(-45.678), "-45.7");
  EXPECT_EQ(short_number(45678.9), "45679");
  EXPECT_EQ(at_text(7.31), "7.3 s");
  EXPECT_EQ(at_text(59.96), "1:00");
}

TEST(Page, AxesHaveRoundSteps) {
  EXPECT_DOUBLE_EQ(axis_step(1, 5), 0.2);
  EXPECT_DOUBLE_EQ(axis_step(37, 8), 5);
  EXPECT_DOUBLE_EQ(axis_step(0.06, 6), 0.01);
  EXPECT_DOUBLE_EQ(axis_step(900, 2), 500);
}

TEST(Page, ThirtyTwoLinesLookDifferent) {
  std::set<std::string> looks;
  for (std::size_t i = 0; i < 32; ++i) looks.insert(nth_colour(i));
  EXPECT_EQ(looks.size(), 32U);
  EXPECT_EQ(nth_colour(3), "w3");
  EXPECT_EQ(nth_colour(11), "w3 turn1");
  EXPECT_EQ(nth_colour(32), "w0") << "they return";
}

}  // namespace
}  // namespace steelyard::page_test
