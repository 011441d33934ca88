// The simulator against two real runs of the demo's cluster, 150 rounds each on two cores. Their rounds.jsonl
// are in examples/devices. With the curves of such a run, the simulation takes as long as the run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/config/scenario_file.h"
#include "core/text.h"
#include "sim/simulation.h"

namespace steelyard::scenario_recorded_test {
namespace {

std::string recording(const std::string& name) {
  const auto folder = std::filesystem::path(__FILE__).parent_path() / "../../../examples/devices";
  return std::filesystem::absolute(folder / (name + ".jsonl")).lexically_normal().string();
}

double real_median_ms(const std::string& file) {
  std::ifstream in(file);
  std::vector<double> rounds;
  for (std::string line; std::getline(in, line);) rounds.push_back(nlohmann::json::parse(line)["round_ms"]);
  EXPECT_EQ(rounds.size(), 150U) << file;
  return median(rounds);
}

double simulated_median_ms(const std::string& file, const std::string& policy) {
  std::string text =
      "[job]\nglobal_batch = 512\nsamples_per_epoch = 60000\nepochs = 2\nrounds = 150\npolicy = \"" + policy +
      "\"\n[network]\nservers = 2\nrecorded = \"" + file + "\"\n";
  for (const char* name : {"half", "quarter", "eighth"}) {
    text += "[[worker]]\nname = \"" + std::string(name) + "\"\nrecorded = \"" + file + "\"\n";
  }
  std::vector<double> rounds;
  for (const sim::RoundResult& round : sim::simulate(parse_scenario(text, "recorded.toml")).rounds)
    rounds.push_back(round.round_ms);
  EXPECT_EQ(rounds.size(), 150U);
  return median(rounds);
}

TEST(ScenarioOfARecordedRun, TakesAsLongAsTheRun) {
  const std::string equal = recording("demo_equal"), balanced = recording("demo_lb_bsp");
  const double equal_ms = real_median_ms(equal), balanced_ms = real_median_ms(balanced);
  EXPECT_NEAR(simulated_median_ms(equal, "equal") / equal_ms, 1, 0.1);
  EXPECT_NEAR(simulated_median_ms(balanced, "lb-bsp") / balanced_ms, 1, 0.1);
}

// The purpose of a recording: to predict how another policy would have done.
TEST(ScenarioOfARecordedRun, PredictsTheTimeUnderAnotherPolicy) {
  const std::string equal = recording("demo_equal"), balanced = recording("demo_lb_bsp");
  EXPECT_NEAR(simulated_median_ms(equal, "lb-bsp") / real_median_ms(balanced), 1, 0.1);
  EXPECT_NEAR(simulated_median_ms(balanced, "equal") / real_median_ms(equal), 1, 0.1);
}

}  // namespace
}  // namespace steelyard::scenario_recorded_test
