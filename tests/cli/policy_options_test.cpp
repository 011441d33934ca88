#include "cli/policy_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "cli/job_file.h"
#include "core/error.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

using testing::AllOf;
using testing::HasSubstr;

PolicyTrouble trouble(const std::string& policy, const balancing::PolicyOptions& options) {
  return trouble_with(policy, options, sim::simulated_policies()).value_or(PolicyTrouble{});
}

TEST(CliPolicyOptions, GoodOnesAreNoTrouble) {
  for (const std::string& policy : sim::simulated_policies()) EXPECT_EQ(trouble(policy, {}).what, "");
  // Alone, this `fine` would be above the `rapid` that the policy has by itself.
  EXPECT_EQ(trouble("lbb", {{"fine", "0.9"}, {"rapid", "2"}}).what, "");
}

TEST(CliPolicyOptions, TheOptionAtFaultIsNamed) {
  const PolicyTrouble unknown = trouble("lbb", {{"fine", "0.01"}, {"rapidd", "0.3"}, {"step", "2"}});
  EXPECT_EQ(unknown.option, "rapidd");
  EXPECT_THAT(unknown.what, AllOf(HasSubstr("lbb has no option 'rapidd'"), HasSubstr("rapid, step")));
  const PolicyTrouble value = trouble("lbb", {{"fine", "0.01"}, {"preset", "papr"}, {"step", "2"}});
  EXPECT_EQ(value.option, "preset");
  EXPECT_THAT(value.what, HasSubstr("as-released"));
  EXPECT_EQ(trouble("lbb", {{"fine", "1"}, {"rapid", "0.5"}}).option, "fine") << "either of the two";
}

TEST(CliPolicyOptions, PoliciesThatThereAreNotAreRefusedWithTheNearest) {
  const PolicyTrouble it = trouble("stilyard", {});
  EXPECT_EQ(it.option, "");
  EXPECT_THAT(it.what, HasSubstr("did you mean \"steelyard\"?"));
  EXPECT_THAT(trouble("oracle", {{"wisdom", "1"}}).what, HasSubstr("has no options"));
  EXPECT_TRUE(trouble_with("oracle", {}, balancing::policy_names())) << "no job has it";
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
TEST(CliPolicyOptions, AJobTellsTheirPlace) {
  EXPECT_EQ(refusal("[policy.lbb]\nstep = 2\nrapidd = 0.3\n" + std::string(one_worker)),
            "j.toml:3:10: policy lbb has no option 'rapidd'; its options: preset, fine, rapid, step, window, "
            "guard, profile_ms, start");
  EXPECT_THAT(refusal("[policy.steelyard]\nboldness = 1\n" + std::string(one_worker)),
              AllOf(HasSubstr("j.toml:2:12: policy steelyard"), HasSubstr("least_gain")));
  EXPECT_THAT(refusal("[policy.stilyard]\n" + std::string(one_worker)),
              AllOf(HasSubstr("j.toml:1:9: no policy"), HasSubstr("did you mean \"steelyard\"?")));
  EXPECT_THAT(refusal("[policy.oracle]\n" + std::string(one_worker)),
              HasSubstr("no policy is called \"oracle\""));
  EXPECT_THAT(refusal(one_worker, {"policy.boa.gain=much"}),
              AllOf(HasSubstr("--set policy.boa.gain=much: "), HasSubstr("'much'")));
}

}  // namespace
}  // namespace steelyard
