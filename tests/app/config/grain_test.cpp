// `grain` of [model]: over how many samples batch norm takes its statistics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/prepare_job.h"
#include "app/config/scenario_file.h"
#include "core/error.h"
#include "sim/simulation.h"

namespace steelyard::grain_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char data[] =
    "[data]\nname = \"synthetic\"\ntrain = 600\ntest = 20\nheight = 8\nwidth = 8\nchannels = 3\n";

std::string text_of(const std::string& grain, const std::string& rest = "[[worker]]\n",
                    const std::string& model = "resnet20") {
  return "[model]\nname = \"" + model + "\"\n" + (grain.empty() ? "" : "grain = " + grain + "\n") + data +
         rest;
}

Job complete_job(const std::string& text) {
  Job job = parse_job(text, "j.toml").job;
  complete(job, described(workload_of(job)));
  return job;
}

std::string refusal(const std::string& text) {
  try {
    (void)complete_job(text);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "accepted";
}

TEST(Grain, IsANumberOrAShare) {
  for (const auto& [value, statistics, grain] :
       std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>>{
           {"", 0, 32}, {"\"auto\"", 0, 32}, {"16", 16, 16}, {"1", 1, 1}, {"\"share\"", whole_share, 1}}) {
    const JobFile file = parse_job(text_of(value), "j.toml");
    EXPECT_EQ(file.job.statistics, statistics) << value;
    EXPECT_EQ(complete_job(text_of(value)).grain, grain) << value;
    EXPECT_EQ(parse_job(file.resolved, "resolved").job.statistics, statistics) << file.resolved;
  }
  EXPECT_THAT(refusal(text_of("20")), HasSubstr("grain = 20 in [model]: give 1, 2, 4, 8, 16, 32, \"share\""));
  EXPECT_THAT(refusal(text_of("\"shares\"")), HasSubstr("grain = \"shares\" in [model]"));
}

// A batch that is no multiple of 32 needs a smaller grain.
TEST(Grain, DividesOtherBatches) {
  const std::string batch = "[train]\nbatch = 500\n[[worker]]\n";
  EXPECT_THAT(refusal(text_of("", batch)), HasSubstr("grains of 32"));
  EXPECT_EQ(refusal(text_of("4", batch)), "accepted");
  EXPECT_EQ(refusal(text_of("\"share\"", batch)), "accepted");
}

TEST(Grain, AShareIsOneMicroBatch) {
  const Job job = parse_job(text_of("\"share\"", "[train]\nbatch = 500\n[[worker]]\n"), "j.toml").job;
  EXPECT_EQ(workload_of(job).make_engine()->micro_batch_sizes().front(), 500U);
  EXPECT_EQ(workload_of(job, {.max_batch = 70}).make_engine()->micro_batch_sizes().size(), 70U);
  EXPECT_EQ(workload_of(job, {.max_batch = 900}).model->micro_batch(), 500U);
}

TEST(Grain, ModelsWithoutBatchNormHaveNone) {
  EXPECT_EQ(refusal(text_of("", "[[worker]]\n", "mlp")), "accepted");
  for (const char* value : {"16", "\"share\""}) {
    EXPECT_THAT(
        refusal(text_of(value, "[[worker]]\n", "mlp")),
        AllOf(HasSubstr(std::string("grain = ") + value + " in [model]: model \"mlp\" has no batch norm"),
              HasSubstr("leave grain out")));
  }
}

TEST(Grain, WhatAShareCannotHaveIsRefused) {
  const auto with = [](const std::string& rest) { return refusal(text_of("\"share\"", rest)); };
  EXPECT_THAT(with("[cluster]\nsync = \"flexrr\"\n[[worker]]\n"),
              AllOf(HasSubstr("grain = \"share\" in [model]"), HasSubstr("handed over"), HasSubstr("bsp")));
  EXPECT_THAT(with("[[worker]]\nname = \"a\"\nthreads = 2\n"),
              AllOf(HasSubstr("worker \"a\" has threads = 2"), HasSubstr("leave threads out")));
  EXPECT_THAT(with("[train]\nbatch = 5000\n[[worker]]\n"),
              AllOf(HasSubstr("at most 4096 samples, and batch = 5000"), HasSubstr("give at most that")));
  EXPECT_THAT(refusal("[model]\nname = \"external\"\ngrain = 16\n[[worker]]\n"),
              AllOf(HasSubstr("grain in [model]"), HasSubstr("micro_batch")));
}

// A grain of one sample would be no piece of its own.
TEST(Grain, ReproducibleJobsNeedGrains) {
  const std::string rest = "[cluster]\nreproducible = true\n[[worker]]\n";
  for (const char* value : {"1", "\"share\""}) {
    EXPECT_THAT(refusal(text_of(value, rest)),
                AllOf(HasSubstr("reproducible = true in [cluster]"), HasSubstr("give [model] such a grain")));
  }
  EXPECT_EQ(complete_job(text_of("16", rest)).grain, 16U);
}

TEST(Grain, ScenariosWithATrainingKnowIt) {
  const auto scenario = [](const std::string& value) {
    return parse_scenario(
        "[job]\ntrain = true\nmodel = \"resnet20\"\ndata = \"synthetic\"\n"
        "global_batch = 50\nrounds = 2\npolicy = \"static\"\n[policy.static]\n"
        "speeds = \"30 17 3\"\n[model]\ngrain = " +
            value + "\n" + std::string(data).substr(std::string(data).find("train")).insert(0, "[data]\n") +
            "[[worker]]\ncount = 3\nsamples_per_s = 1600\n",
        "s.toml");
  };
  EXPECT_EQ(scenario("2").grain, 2U);
  const sim::Scenario by_share = scenario("\"share\"");
  EXPECT_EQ(by_share.grain, 1U);
  EXPECT_EQ(sim::simulate(by_share).last_full().shares, (std::vector<std::uint64_t>{30, 17, 3}));
}

}  // namespace
}  // namespace steelyard::grain_test
