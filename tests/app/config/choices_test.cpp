#include "app/config/choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/job_file.h"
#include "balancing/policies.h"
#include "core/error.h"
#include "sim/simulation.h"
#include "tests/support/own_registry.h"

namespace steelyard::choices_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

OptionTrouble trouble(const std::string& policy, const OptionTexts& options) {
  return policy_trouble(policy, options, sim::simulated_policies()).value_or(OptionTrouble{});
}

TEST(Choices, ValidOptionsAreAccepted) {
  for (const std::string& policy : sim::simulated_policies()) EXPECT_EQ(trouble(policy, {}).what, "");
  // Alone, this `fine` would exceed the policy's default `rapid`.
  EXPECT_EQ(trouble("lbb", {{"fine", "0.9"}, {"rapid", "2"}}).what, "");
}

TEST(Choices, TheInvalidOptionIsNamed) {
  const OptionTrouble unknown = trouble("lbb", {{"fine", "0.01"}, {"rapidd", "0.3"}, {"step", "2"}});
  EXPECT_EQ(unknown.option, "rapidd");
  EXPECT_THAT(unknown.what,
              AllOf(HasSubstr("policy 'lbb' has no option 'rapidd'"), HasSubstr("rapid, step")));
  const OptionTrouble value = trouble("lbb", {{"fine", "0.01"}, {"preset", "papr"}, {"step", "2"}});
  EXPECT_EQ(value.option, "preset");
  EXPECT_THAT(value.what, HasSubstr("as-released"));
  EXPECT_EQ(trouble("lbb", {{"fine", "1"}, {"rapid", "0.5"}}).option, "fine") << "or rapid";
}

TEST(Choices, UnknownPoliciesAreRefusedWithTheNearestName) {
  const OptionTrouble it = trouble("stilyard", {});
  EXPECT_EQ(it.option, "");
  EXPECT_THAT(it.what, HasSubstr("did you mean \"steelyard\"?"));
  EXPECT_THAT(trouble("oracle", {{"wisdom", "1"}}).what, HasSubstr("has no options"));
  EXPECT_TRUE(policy_trouble("oracle", {}, balancing::policy_names())) << "not available in jobs";
}

constexpr char one_worker[] = "[[worker]]\n";

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_job(text, "j.toml", overrides);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "accepted";
}

// [cluster] policy is steelyard in all of these.
TEST(Choices, ErrorsInAJobHaveTheirPlace) {
  EXPECT_EQ(refusal("[policy.lbb]\nstep = 2\nrapidd = 0.3\n" + std::string(one_worker)),
            "j.toml:3:10: policy 'lbb' has no option 'rapidd'; did you mean \"rapid\"? (valid: preset, fine, "
            "rapid, step, window, guard, profile_ms, start)");
  EXPECT_THAT(refusal("[policy.steelyard]\nboldness = 1\n" + std::string(one_worker)),
              AllOf(HasSubstr("j.toml:2:12: policy 'steelyard'"), HasSubstr("least_gain")));
  EXPECT_THAT(refusal("[policy.stilyard]\n" + std::string(one_worker)),
              AllOf(HasSubstr("j.toml:1:9: unknown policy"), HasSubstr("did you mean \"steelyard\"?")));
  EXPECT_THAT(refusal("[policy.oracle]\n" + std::string(one_worker)), HasSubstr("unknown policy 'oracle'"));
  EXPECT_THAT(refusal(one_worker, {"policy.boa.gain=much"}),
              AllOf(HasSubstr("--set policy.boa.gain=much: "), HasSubstr("'much'")));
}

// Models and data sets that a program registers are checked like the built-in ones.
TEST(Choices, ErrorsInModelsAndDataSetsHaveTheirPlace) {
  const auto model = [](nn::Shape shape, std::uint32_t classes, const Options& options) {
    return nn::Model(shape, classes)
        .linear("a", static_cast<std::uint32_t>(options.whole("width")))
        .linear("b", classes);
  };
  const auto data = [](const Options&) { return DataSets{}; };
  const OwnRegistry own({.models = {{"mine", model, "", {whole_option("width", 32, 1, 4096, "")}}},
                         .engines = {{"computed", nullptr, "", {whole_option("depth", 2, 1, 8, "")}}},
                         .data_sets = {{"ours", data, "", {whole_option("samples", 9, 1, 100, "")}}}});
  const auto refusal_of = [&](const std::string& text, const std::vector<std::string>& overrides = {}) {
    try {
      parse_job(text + one_worker, "j.toml", overrides);
    } catch (const Failure& failure) {
      return std::string(failure.what());
    }
    return std::string("accepted");
  };
  const std::string good = "[model]\nname = \"mine\"\nwidth = 64\n[data]\nname = \"ours\"\nsamples = 50\n";
  EXPECT_EQ(refusal_of(good), "accepted");
  EXPECT_EQ(refusal_of("[model]\nname = \"computed\"\ndepth = 3\n"), "accepted");
  EXPECT_EQ(refusal_of("[model]\nname = \"computed\"\ndepth = 9\n"),
            "j.toml:3:9: model 'computed', option depth = '9': give a whole number from 1 to 8");
  EXPECT_THAT(refusal_of("[model]\nname = \"computer\"\n"), HasSubstr("did you mean \"computed\"?"));
  EXPECT_EQ(refusal_of("[model]\nname = \"mine\"\nwidth = -3\n"),
            "j.toml:3:9: model 'mine', option width = '-3': give a whole number from 1 to 4096");
  EXPECT_EQ(
      refusal_of(good, {"model.width=100000"}),
      "--set model.width=100000: model 'mine', option width = '100000': give a whole number from 1 to 4096");
  EXPECT_EQ(
      refusal_of(good, {"model.widht=8"}),
      "--set model.widht=8: model 'mine' has no option 'widht'; did you mean \"width\"? (valid: width)");
  EXPECT_EQ(
      refusal_of(good, {"data.samples=abc"}),
      "--set data.samples=abc: data set 'ours', option samples = 'abc': give a whole number from 1 to 100");
  EXPECT_THAT(refusal_of("[model]\nname = \"mlb\"\n"),
              AllOf(HasSubstr("j.toml:2:8: unknown model 'mlb'; did you mean \"mlp\"? (valid: computed, "
                              "external, mine, albert, "),
                    HasSubstr("lenet5, mlp, resnet101")));
  EXPECT_THAT(refusal_of("[data]\nname = \"mnist\"\n"), HasSubstr("j.toml:2:8: unknown data set 'mnist'"));
}

// Texts that look like numbers, and numbers that look like texts.
TEST(Choices, OptionsKeepTheirText) {
  const std::string text =
      "[data]\na = \"007\"\nb = \"1e3\"\nc = 1e300\nd = -0.0\ne = true\nf = \"nan\"\n"
      "g = \"\\u0007\\\\\"\nh = 100000.0\n[[worker]]\n";
  Choice<DataSets(const Options&)> row("fashion-mnist", [](const Options&) { return DataSets{}; });
  for (const char* option : {"a", "b", "c", "d", "e", "f", "g", "h"})
    row.options.push_back(text_option(option, "", ""));
  const OwnRegistry own({.data_sets = {row}});
  const JobFile file = parse_job(text, "j.toml");
  EXPECT_THAT(file.job.data_options,
              ElementsAre(Pair("a", "007"), Pair("b", "1e3"), Pair("c", "1e+300"), Pair("d", "0"),
                          Pair("e", "true"), Pair("f", "nan"), Pair("g", "\a\\"), Pair("h", "100000")));
  const JobFile again = parse_job(file.resolved, "again");
  EXPECT_EQ(again.job.data_options, file.job.data_options);
  EXPECT_EQ(again.resolved, file.resolved);
}

}  // namespace
}  // namespace steelyard::choices_test
