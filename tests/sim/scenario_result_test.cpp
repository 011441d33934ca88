#include "sim/scenario_result.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace steelyard::sim::result_test {
namespace {

// Two epochs, each of a full round and a half round.
Result made_result() {
  Result result{"two \"epochs\"", "equal", "bsp", 7, {"a", "b"}, {}, 0.9, 4};
  for (std::uint64_t i = 0; i < 4; ++i) {
    const bool whole = i % 2 == 0;
    result.rounds.push_back(
        {i, i / 2, {whole ? 10U : 5U, whole ? 30U : 15U}, {200, 100}, whole ? 300.0 : 200.0, 2.0 / 3});
    result.rounds.back().samples = whole ? 40 : 20;
  }
  return result;
}

TEST(Result, TotalsAreSums) {
  const Result result = made_result();
  EXPECT_DOUBLE_EQ(result.total_s(), 1.0);
  EXPECT_DOUBLE_EQ(result.samples_per_s(), 120);
  EXPECT_DOUBLE_EQ(result.percent_of_ideal(), 90);
  EXPECT_EQ(result.epoch_s(), (std::vector{0.5, 0.5}));
  EXPECT_EQ(result.last_full().round, 2U) << "the last round of an epoch is not full";
}

TEST(Result, SamplesWithoutAReportStillCount) {
  Result result = made_result();
  result.rounds[2].shares[1] = 0;
  EXPECT_DOUBLE_EQ(result.samples_per_s(), 120);
  EXPECT_EQ(result.last_full().round, 2U);
}

// The documented format: these keys and no others.
TEST(Result, JsonHasExactlyTheDocumentedKeys) {
  const auto json = nlohmann::json::parse(to_json(made_result()));
  std::vector<std::string> keys, in_round;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"computing", "efficiency", "epoch_s", "final", "ideal_s",
                                            "percent_of_ideal", "policy", "rounds", "samples_per_s",
                                            "scenario", "seed", "sync", "total_s", "updates"}));
  for (const auto& [key, value] : json["rounds"][0].items()) in_round.push_back(key);
  EXPECT_EQ(in_round, (std::vector<std::string>{"compute_ms", "round", "round_ms", "se", "shares"}));
  EXPECT_EQ(json["scenario"], "two \"epochs\"");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["rounds"].size(), 4U);
  EXPECT_EQ(json["rounds"][1]["shares"], (std::vector<int>{5, 15}));
  EXPECT_EQ(json["rounds"][1]["round_ms"], 200);
  EXPECT_EQ(json["epoch_s"], (std::vector<double>{0.5, 0.5}));
  EXPECT_DOUBLE_EQ(json["computing"], 0.8) << "200 of 300 ms and 200 of 200 ms";
  EXPECT_NEAR(json["efficiency"], 2 * (40 / 350.0 + 20 / 175.0), 1e-12);
  EXPECT_EQ(json["updates"], 4);
  EXPECT_EQ(json["final"]["shares"], (std::vector<int>{10, 30}));
  EXPECT_EQ(json["final"]["workers"], (std::vector<std::string>{"a", "b"}));
}

TEST(Result, TrainingAddsLossesAndEvaluations) {
  Result result = made_result();
  result.trained = true;
  result.rounds[1].loss = 1.5;
  result.evaluations = {{2, 0.5, 0.4, 1.25}, {4, 1, 0.75, 0.5}};
  const auto json = nlohmann::json::parse(to_json(result));
  EXPECT_EQ(json["rounds"][1]["loss"], 1.5);
  ASSERT_EQ(json["evaluations"].size(), 2U);
  EXPECT_EQ(json["evaluations"][0],
            (nlohmann::json{{"round", 2}, {"seconds", 0.5}, {"accuracy", 0.4}, {"loss", 1.25}}));
  EXPECT_EQ(json["final"]["accuracy"], 0.75);
  EXPECT_EQ(json["final"]["loss"], 0.5);
  result.evaluations.back().accuracy = -1;  // the model predicts numbers
  const auto numbers = nlohmann::json::parse(to_json(result));
  EXPECT_TRUE(numbers["final"]["accuracy"].is_null());
  EXPECT_TRUE(numbers["evaluations"][1]["accuracy"].is_null());
}

TEST(Result, StalenessIsWrittenIfMeasured) {
  Result result = made_result();
  result.staleness = {5, 0, 2};
  EXPECT_EQ(nlohmann::json::parse(to_json(result))["staleness"], (std::vector<int>{5, 0, 2}));
}

TEST(Result, NumbersRoundTripAndTextIsEscaped) {
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(std::stod(json_number(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(json_number(1.0 / 0.0), "null");
  EXPECT_EQ(nlohmann::json::parse(json_text("a\"b\\c\nd\x01")), "a\"b\\c\nd\x01");
}

}  // namespace
}  // namespace steelyard::sim::result_test
