// The outer optimizer and the encodings of pushes and pulls in a job file, and the sync modes that exclude
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/job_file.h"
#include "app/config/scenario_file.h"
#include "tests/support/complaint.h"

namespace steelyard::job_codes_test {
namespace {

using ::testing::HasSubstr;

const std::string one_worker = "[[worker]]\n";

std::string refusal(const std::string& text) {
  return complaint_of([&] { parse_job(text + one_worker, "j.toml"); });
}

TEST(JobCodes, PushAndPullEncodingsAreRead) {
  const JobFile file = parse_job(
      "[cluster]\nsync = \"diloco:64\"\npush_encoding = \"int4\"\npull_encoding = \"bf16\"\n" + one_worker,
      "j.toml");
  EXPECT_EQ(file.job.push_encoding, FloatCode::int4);
  EXPECT_EQ(file.job.pull_encoding, FloatCode::bf16);
  EXPECT_EQ(parse_job(file.resolved, "again").job.push_encoding, FloatCode::int4);
  EXPECT_THAT(refusal("[cluster]\npush_encoding = \"int2\"\n"), HasSubstr("\"bf16\", \"int8\", \"int4\""));
}

TEST(JobCodes, EncodingsNeedExactVersions) {
  for (const char* key : {"push_encoding", "pull_encoding"}) {
    const auto refusal_of = [&](const std::string& sync) {
      return refusal("[cluster]\nsync = \"" + sync + "\"\n" + key + " = \"int8\"\n");
    };
    for (const char* sync : {"bsp", "ssp:0", "local:4", "oneshot:epoch", "diloco:4"})
      EXPECT_EQ(refusal_of(sync), "");
    for (const char* sync : {"ssp:2", "asp"}) {
      EXPECT_THAT(refusal_of(sync), HasSubstr("j.toml:3:17: " + std::string(key) +
                                              " = \"int8\" cannot be combined with sync = \"" + sync + "\""));
    }
  }
}

TEST(JobCodes, TheOuterOptimizerNeedsLocalSteps) {
  const JobFile file = parse_job(
      "[train]\nouter_rate = 0.7\nouter_momentum = 0.9\n[cluster]\nsync = \"diloco:64\"\n" + one_worker,
      "j.toml");
  EXPECT_EQ(file.job.outer_rate, 0.7);
  EXPECT_EQ(file.job.outer_momentum, 0.9);
  EXPECT_THAT(refusal("[train]\nouter_momentum = 0.9\n"), HasSubstr("sync = \"bsp\" has none"));
  EXPECT_THAT(refusal("[train]\nouter_momentum = 1\n[cluster]\nsync = \"diloco:4\"\n"), HasSubstr("below 1"));
}

TEST(JobCodes, HubsAllowNeitherPullEncodingNorMomentum) {
  const std::string sync = "sync = \"mll:4:2:1\"\n";
  EXPECT_EQ(refusal("[cluster]\n" + sync + "push_encoding = \"int8\"\n"), "");
  EXPECT_THAT(refusal("[cluster]\n" + sync + "pull_encoding = \"int8\"\n"),
              HasSubstr("pull_encoding = \"int8\" cannot be combined with sync = \"mll:4:2:1\": workers of "
                        "different hubs"));
  EXPECT_THAT(refusal("[train]\nouter_momentum = 0.5\n[cluster]\n" + sync),
              HasSubstr("outer_momentum cannot be combined with sync = \"mll:4:2:1\""));
  EXPECT_THAT(refusal("[train]\noptimizer = \"adam\"\n[cluster]\n" + sync),
              HasSubstr("local steps begin each round without moments"));
  EXPECT_THAT(refusal("[cluster]\nsync = \"mll:4:2:2\"\n"), HasSubstr("give 1 hubs at most"));
}

TEST(ScenarioCodes, HubsAllowNoPullEncoding) {
  const std::string text =
      "[job]\nsync = \"mll:4:2:1\"\n[network]\npull = \"int8\"\n[[worker]]\ntime_ms = [0, 1]\n";
  EXPECT_THAT(complaint_of([&] { parse_scenario(text, "s.toml"); }),
              HasSubstr("pull = \"int8\" cannot be combined with sync = \"mll:4:2:1\""));
}

TEST(ScenarioCodes, EncodingsAreKeysOfTheNetwork) {
  const std::string workers = "[[worker]]\ntime_ms = [0, 1]\n";
  const auto scenario = [&](const std::string& sync) {
    return parse_scenario(
        "[job]\nsync = \"" + sync + "\"\n[network]\npush = \"int4\"\npull = \"int8\"\n" + workers, "s.toml");
  };
  EXPECT_EQ(scenario("diloco:8").network.push_encoding, FloatCode::int4);
  EXPECT_EQ(scenario("bsp").network.pull_encoding, FloatCode::int8);
  EXPECT_THAT(complaint_of([&] { scenario("ssp:2"); }),
              HasSubstr("cannot be combined with sync = \"ssp:2\""));
}

// The length of paced rounds depends on measurements, so a number of rounds does not define the length of the
// training.
TEST(JobCodes, PacedModesRefuseANumberOfRounds) {
  EXPECT_EQ(refusal("[cluster]\nsync = \"orchestra\"\npolicy = \"orchestra\"\n"), "");
  EXPECT_THAT(refusal("[train]\nrounds = 100\n[cluster]\nsync = \"orchestra\"\npolicy = \"orchestra\"\n"),
              HasSubstr("give [train] epochs or seconds in place of rounds"));
}

}  // namespace
}  // namespace steelyard::job_codes_test
