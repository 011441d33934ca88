// Comparisons as JSON.
#include "app/report/compare/comparison_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/report/compare/made.h"

namespace steelyard::json_test {
namespace {

TEST(CompareJson, ContainsAllRunsAndTheNumbersOfTheTable) {
  const auto json = nlohmann::json::parse(comparison_json({made_comparison()}));
  EXPECT_EQ(json["format"], 2);
  const auto& it = json["comparisons"][0];
  EXPECT_EQ(it["name"], "made");
  EXPECT_EQ(it["target"], 0.8);
  EXPECT_EQ(it["methods"].size(), 4U);
  const auto& balanced = it["methods"][1];
  EXPECT_EQ(balanced["policy"], "lb-bsp");
  EXPECT_TRUE(balanced["alone"].is_null());
  EXPECT_EQ(balanced["gain_on_equal"]["median"], 2);
  EXPECT_EQ(balanced["gain_on_equal"]["most"], 2.5);
  EXPECT_EQ(balanced["seconds_to_target"]["median"], 4);
  EXPECT_EQ(balanced["runs"][2]["seed"], 9);
  EXPECT_EQ(balanced["runs"][2]["evaluations"][1]["accuracy"], 0.8);
  EXPECT_EQ(it["methods"][2]["runs"][1]["failure"], "it <broke>");
  EXPECT_TRUE(it["methods"][2]["percent_of_ideal"].is_null());
  EXPECT_DOUBLE_EQ(balanced["efficiency"]["median"], 0.46);
  EXPECT_DOUBLE_EQ(balanced["runs"][0]["efficiency"], 0.45);
  EXPECT_TRUE(it["methods"][2]["efficiency"].is_null());
  EXPECT_EQ(it["methods"][3]["alone"], "fast");
}

}  // namespace
}  // namespace steelyard::json_test
