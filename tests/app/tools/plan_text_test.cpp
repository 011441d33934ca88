#include "app/tools/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace steelyard::text_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<MeasuredWorker> measured{{"ada", {{512, 40}}, 0, 0.5, 20}, {"bob", {{512, 80}}, 0, 0.5, 0}};
const std::vector<Candidate> ranked{{{"diloco:64", true}, {"ada", "bob"}, 1500, 0.9, {"bob"}},
                                    {{"bsp", false}, {"ada"}, 1200, 0.8, {}},
                                    {{"bsp", false}, {"bob"}, 1000, 0.95, {}}};

TEST(PlanText, WorkersAreShownWithSpeedAndBandwidth) {
  // 1 MB in 20 ms are 400 Mbit/s.
  EXPECT_THAT(measured_table(measured, 512, 1),
              AllOf(HasSubstr("12800"), HasSubstr("400.0"), HasSubstr("6400"), HasSubstr("no limit")));
}

// The curves that a job can use: 40 ms for 512 samples are 0.078125 ms each.
TEST(PlanText, MeasurementsBecomeProfilesOfTheJob) {
  EXPECT_EQ(profile_ms_of(measured, {"ada", "bob"}), "ada: 0 0.078125; bob: 0 0.15625");
  EXPECT_EQ(profile_ms_of({{"cid", {{100, 7}, {300, 17}}}, {"dan", {{64, 0}}}}, {"cid", "dan"}),
            "cid: 2 0.05");
  EXPECT_EQ(profile_ms_of(measured, {"bob"}), "bob: 0 0.15625");
}

TEST(PlanText, IdleWorkersAreNamed) {
  EXPECT_THAT(candidate_table(ranked),
              AllOf(HasSubstr("1500"), HasSubstr("90.0 %"), HasSubstr("ada, bob; idle: bob")));
}

TEST(PlanText, TheBestOfEachModeIsAlwaysShown) {
  std::vector<Candidate> many(20, ranked.front());
  many.insert(many.end(), ranked.begin() + 1, ranked.end());
  const std::string text = candidate_table(many);
  EXPECT_THAT(text, AllOf(HasSubstr("1200"), Not(HasSubstr("1000"))));
}

TEST(PlanText, AWorkersWorthIsTheLossWithoutIt) {
  const std::string text = worth_table(ranked, measured);
  EXPECT_THAT(text, AllOf(HasSubstr("+50.0 %"), HasSubstr("+25.0 %")));
  EXPECT_THAT(worth_table(ranked, {measured.front()}), IsEmpty());
}

TEST(PlanText, LocalStepsGetAWarning) {
  EXPECT_THAT(caution({"diloco:64", true}), HasSubstr("accuracy"));
  EXPECT_THAT(caution({"bsp", false}), IsEmpty());
}

TEST(PlanText, AFasterModeWithOtherMathematicsIsAnOffer) {
  EXPECT_THAT(
      other_mathematics_text(ranked[1], ranked[0]),
      AllOf(HasSubstr("if other mathematics is acceptable: diloco:64, int4 with ada, bob is predicted to be "
                      "1.25 times as fast"),
            HasSubstr("accuracy")));
}

TEST(PlanText, ThePredictionErrorIsShown) {
  RunRecord trial;
  for (int i = 0; i < 8; ++i) {
    RunRound round;
    round.begin = i;
    round.end = i + 1;
    round.parts = {{0, 800, 0.5}};
    trial.rounds.push_back(round);
  }
  EXPECT_THAT(checked_text(820, trial),
              AllOf(HasSubstr("measured 800"), HasSubstr("2.5 % off"), Not(HasSubstr("few"))));
  trial.rounds.resize(3);
  EXPECT_THAT(checked_text(820, trial), HasSubstr("few rounds"));
  EXPECT_THAT(checked_text(820, {}), HasSubstr("none"));
}

TEST(PlanText, TheJsonHasAllCandidates) {
  const auto json = nlohmann::json::parse(candidates_json(ranked));
  ASSERT_EQ(json["candidates"].size(), 3U);
  EXPECT_EQ(json["candidates"][0]["sync"], "diloco:64");
  EXPECT_EQ(json["candidates"][0]["resting"], nlohmann::json({"bob"}));
  EXPECT_EQ(json["candidates"][1]["samples_per_second"], 1200);
}

TEST(PlanText, TheJsonNamesWhatToStart) {
  const Json json = plan_json(ranked, {ranked[1], ranked[2]}, measured,
                              {&ranked[1], "hosts.toml", "steelyard launch", 1100.5}, nullptr);
  EXPECT_EQ(json["best"]["workers"], Json({"ada"}));
  EXPECT_EQ(json["best"]["command"], "steelyard launch");
  EXPECT_EQ(json["best"]["measured_samples_per_second"], 1100.5);
  EXPECT_EQ(json["workers"][0]["best_with"], 1200);
  EXPECT_EQ(json["workers"][0]["best_without"], 1000);
  EXPECT_EQ(json["candidates"].size(), 3U);
  EXPECT_TRUE(json["other_mathematics"].is_null());
  const Recommended other{&ranked[0], "other.toml", "steelyard launch other.toml"};
  const Json both = plan_json(ranked, ranked, measured, {&ranked[1], "", ""}, &other);
  EXPECT_EQ(both["other_mathematics"]["sync"], "diloco:64");
  EXPECT_TRUE(both["other_mathematics"]["measured_samples_per_second"].is_null());
}

}  // namespace
}  // namespace steelyard::text_test
