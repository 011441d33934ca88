// Lines against time.
#include "app/report/page/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace steelyard::plot_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Plot a_plot(Series series) {
  return {.title = "Title", .about = "about", .unit = " ms", .to = 10, .series = {std::move(series)}};
}

TEST(Plot, ALineHasItsValuesBesideIt) {
  const std::string text = drawn(a_plot({"a<b", "w0", {0, 5, 10}, {1, 2, 4}, {}, {}}));
  EXPECT_THAT(text, AllOf(HasSubstr("data-name=\"a&lt;b\" data-v=\"1.00 2.00 4.00\" "
                                    "d=\"M0.0 750.0L500.0 500.0L1000.0 0.0\""),
                          HasSubstr(">4 ms</span>"), HasSubstr("<td>2.00 ms</td>"), HasSubstr("<details>")));
}

TEST(Plot, WhatIsNoNumberIsAGap) {
  const std::string text = drawn(a_plot({"a", "w0", {0, 2, 5, 10}, {1, NAN, 2, 4}, {}, {}}));
  EXPECT_THAT(text, AllOf(HasSubstr("d=\"M0.0 750.0M500.0 500.0L1000.0 0.0\""),
                          HasSubstr("data-v=\"1.00 2.00 4.00\""), Not(HasSubstr("nan"))));
  EXPECT_EQ(drawn(a_plot({"a", "w0", {0, 2}, {NAN, INFINITY}, {}, {}})), "");
  EXPECT_EQ(drawn(a_plot({"a", "w0", {}, {}, {}, {}})), "");
}

TEST(Plot, NothingIsDrawnOutside) {
  Plot plot = a_plot({"a", "w0", {-1, 5, 11}, {-3, 500, 1e9}, {-9, 400, 1e8}, {0, 600, 1e12}});
  plot.cap = 120;
  plot.marks = {-1, 99};
  const std::string text = drawn(plot);
  const std::regex point("[ML]([-0-9.e]+) ([-0-9.e]+)");
  std::size_t points = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), point), end; it != end; ++it, ++points) {
    const double x = std::stod((*it)[1]), y = std::stod((*it)[2]);
    EXPECT_TRUE(0 <= x && x <= 1000 && 0 <= y && y <= 1000) << it->str();
  }
  EXPECT_GT(points, 10U);
}

TEST(Plot, ThinnedPointsKeepLeastMeanAndMost) {
  const Series thin = thinned({"a", "w0", {1, 2, 3, 4, 5, 6}, {10, 20, 30, NAN, 50, 60}, {}, {}}, 3);
  EXPECT_THAT(thin.x, ElementsAre(1.5, 3.5, 5.5));
  EXPECT_THAT(thin.y, ElementsAre(15, 30, 55));
  EXPECT_THAT(thin.low, ElementsAre(10, 30, 50));
  EXPECT_THAT(thin.high, ElementsAre(20, 30, 60));
  const Series again = thinned(thin, 1);
  EXPECT_THAT(again.low, ElementsAre(10));
  EXPECT_THAT(again.high, ElementsAre(60));
  EXPECT_THAT(thinned({"a", "w0", {1, 2}, {3, 4}, {}, {}}, 2).low, testing::IsEmpty());
}

}  // namespace
}  // namespace steelyard::plot_test
