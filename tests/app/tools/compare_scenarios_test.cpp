#include "app/tools/compare_scenarios.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "app/config/scenario_file.h"
#include "sim/simulation.h"

namespace steelyard::compare_scenarios_test {
namespace {

sim::Scenario training() {
  return read_scenario(std::filesystem::path(__FILE__).parent_path() /
                       "../../../examples/scenarios/train_softmax.toml");
}

// Under bsp the parameters do not depend on the split: one training serves all policies, and its curve gets
// the times of each.
TEST(CompareScenarios, ReusesTheTrainingOfEqualBsp) {
  sim::Scenario scenario = training();
  const Contest contest = scenario_contest(scenario, 5);
  const Trial equal = contest.run(equal_bsp, 0);
  const Trial reused = contest.run({"steelyard", "bsp", ""}, 0);
  scenario.seed = 5;
  scenario.policy = "steelyard";
  const sim::Result trained = sim::simulate(scenario);
  ASSERT_EQ(reused.evaluations.size(), trained.evaluations.size());
  for (std::size_t i = 0; i < reused.evaluations.size(); ++i) {
    EXPECT_DOUBLE_EQ(reused.evaluations[i].seconds, trained.evaluations[i].seconds);
    EXPECT_EQ(reused.evaluations[i].updates, trained.evaluations[i].updates);
    EXPECT_EQ(reused.evaluations[i].epochs, i + 1);
    EXPECT_NEAR(reused.evaluations[i].accuracy, trained.evaluations[i].accuracy, 0.005) << "rounding";
    EXPECT_EQ(reused.evaluations[i].accuracy, equal.evaluations[i].accuracy);
  }
  EXPECT_DOUBLE_EQ(reused.seconds, trained.total_s());
  EXPECT_DOUBLE_EQ(reused.percent_of_ideal, trained.percent_of_ideal());
}

// Other modes use stale or local parameters, which depend on the split.
TEST(CompareScenarios, TrainsEachPolicyInOtherModes) {
  const sim::Scenario scenario = training();
  const Contest contest = scenario_contest(scenario, 5);
  const Trial equal = contest.run(equal_bsp, 0);
  const Trial local = contest.run({"steelyard", "local:4", ""}, 0);
  ASSERT_FALSE(local.evaluations.empty());
  EXPECT_NE(local.evaluations.back().accuracy, equal.evaluations.back().accuracy);
}

}  // namespace
}  // namespace steelyard::compare_scenarios_test
