// Documents: buckets, charts, colours.
#include "app/report/page/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace steelyard::document_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Chart a_chart(Series series) {
  return {.id = "chart", .title = "Title", .note = "note", .unit = " ms", .series = {std::move(series)}};
}

TEST(Document, AChartHasItsValuesAndATable) {
  const Json block = chart_block(a_chart({"a<b", 3, {0, 5, 10}, {1, 2, 4.00004}}));
  EXPECT_EQ(block["type"], "chart");
  EXPECT_EQ(block["x"], Json({0, 5, 10}));
  EXPECT_EQ(block["series"][0]["mean"], Json({1, 2, 4})) << "four significant digits";
  EXPECT_EQ(block["series"][0]["colour"], 3);
  EXPECT_FALSE(block["series"][0].contains("min")) << "each point is one round";
  EXPECT_EQ(block["columns"], Json({"seconds", "a<b"}));
  EXPECT_EQ(block["rows"].size(), 3U);
  EXPECT_EQ(block["rows"][1][1], "2.00 ms");
}

TEST(Document, AValueThatIsNotFiniteIsAGap) {
  EXPECT_EQ(chart_block(a_chart({"a", 0, {0, 2, 5}, {1, NAN, 2}}))["series"][0]["mean"].dump(), "[1,null,2]");
  EXPECT_TRUE(chart_block(a_chart({"a", 0, {0, 2}, {NAN, INFINITY}})).is_null());
  EXPECT_TRUE(chart_block(a_chart({"a", 0, {}, {}})).is_null());
}

TEST(Document, SeriesWithDifferentTimesHaveTheirOwnX) {
  Chart chart = a_chart({"a", 0, {0, 2, 5}, {1, 1, 2}});
  chart.series.push_back({"b", 1, {1, 9}, {3, 4}});
  const Json block = chart_block(chart);
  EXPECT_FALSE(block["series"][0].contains("x"));
  EXPECT_EQ(block["series"][1]["x"], Json({1, 9}));
}

TEST(Document, BucketsKeepMinimumMeanAndMaximum) {
  const Series thin = thinned({"a", 0, {1, 2, 3, 4, 5, 6}, {10, 20, 30, NAN, 50, 60}}, 3);
  EXPECT_THAT(thin.x, ElementsAre(1.5, 3.5, 5.5));
  EXPECT_THAT(thin.y, ElementsAre(15, 30, 55));
  EXPECT_THAT(thin.low, ElementsAre(10, 30, 50));
  EXPECT_THAT(thin.high, ElementsAre(20, 30, 60));
  const Series again = thinned(thin, 1);
  EXPECT_THAT(again.low, ElementsAre(10));
  EXPECT_THAT(again.high, ElementsAre(60));
  EXPECT_THAT(thinned({"a", 0, {1, 2}, {3, 4}}, 2).low, IsEmpty());
}

TEST(Document, NumbersAreRounded) {
  EXPECT_EQ(brief(0.0123456).dump(), "0.01235");
  EXPECT_EQ(brief(1234.56).dump(), "1235");
  EXPECT_EQ(brief(25558.3).dump(), "25558");
  EXPECT_EQ(brief(99999.7, 6).dump(), "99999.7");
  EXPECT_EQ(brief(-3.0).dump(), "-3");
  EXPECT_TRUE(brief(NAN).is_null());
}

TEST(Document, EachMethodHasItsColour) {
  EXPECT_EQ(method_colour("equal", "bsp"), 0);
  EXPECT_EQ(method_colour("equal", "ssp:2"), method_colour("equal", "ssp:4"));
  std::set<int> looks;
  for (const char* policy : {"equal", "steelyard", "lb-bsp", "dlb", "lbb", "boa", "static", "cannikin",
                             "omnilearn", "orchestra"}) {
    for (const char* sync : {"bsp", "local:4", "ssp:2", "asp"}) looks.insert(method_colour(policy, sync));
  }
  EXPECT_EQ(looks.size(), 40U);
}

}  // namespace
}  // namespace steelyard::document_test
