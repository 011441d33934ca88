// `simulate` and `replay` as processes, and their output.
#include "app/tools/simulate_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/app/cli/two_to_one.h"
#include "tests/support/process_run.h"

namespace steelyard::simulate_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

sim::Result made_result(const std::string& policy, std::uint64_t quick) {
  sim::Result result{"made", policy, "bsp", 1, {"quick", "slow"}, {}, 0.16, 2};
  for (std::uint64_t i = 0; i < 2; ++i) {
    const auto a = static_cast<double>(quick), b = static_cast<double>(2 * (120 - quick));
    result.rounds.push_back({i, 0, {quick, 120 - quick}, {a, b}, std::max(a, b), 0.5, 0, 120});
  }
  return result;
}

TEST(SimulateText, TheSummaryHasTheMainResults) {
  EXPECT_THAT(simulation_summary(made_result("equal", 60)),
              AllOf(HasSubstr("made under equal, bsp, seed 1"), HasSubstr("seconds             0.240"),
                    HasSubstr("samples per second  1000.0"), HasSubstr("percent of ideal    66.7"),
                    HasSubstr("final shares        60+60")));
}

TEST(SimulateText, NoLineIsWiderThanATerminal) {
  sim::Result result = made_result("equal", 60);
  for (sim::RoundResult& round : result.rounds) {
    round.shares.assign(50'000, 123);
    round.compute_ms.assign(50'000, 1234.5678);
    round.se = 11.942;
  }
  result.staleness.assign(staleness_places, 1000);
  result.trained = true;
  result.evaluations.assign(12, {100'000, 123'456.789, 1, 12.3456, 100'000});
  std::istringstream summary(simulation_summary(result));
  for (std::string line; std::getline(summary, line);) EXPECT_LE(line.size(), 80U) << line;
}

class ProcessSimulate : public ProcessTest {};

TEST_F(ProcessSimulate, FallingTimesAreReported) {
  std::string text = two_to_one;
  text.replace(text.find("time_ms = ["),
               text.find(']', text.find("time_ms = [")) - text.find("time_ms = [") + 1,
               "time_ms = [5, 1, -0.0065]");
  const std::string scenario = write("falls.toml", text);
  EXPECT_EQ(run({"simulate", scenario}), 0) << said_;
  EXPECT_THAT(
      said_,
      HasSubstr("steelyard: falls: worker 'quick': time_ms falls beyond a batch of 77: larger ones take "
                "43.46 ms like it"));
}

TEST_F(ProcessSimulate, PrintsASummaryAndWritesReproducibleJson) {
  const std::string scenario = write("two.toml", two_to_one);
  EXPECT_EQ(run({"simulate", scenario, "--policy", "static", "--seed", "5", "--json", path("a.json")}), 0)
      << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("two under static, bsp, seed 5"), HasSubstr("80+40")));
  EXPECT_EQ(run({"simulate", scenario, "--policy", "static", "--seed", "5", "--json", path("b.json")}), 0)
      << said_;
  EXPECT_EQ(text_of(path("a.json")), text_of(path("b.json")));
  const auto json = nlohmann::json::parse(text_of(path("a.json")));
  EXPECT_EQ(json["policy"], "static");
  EXPECT_EQ(json["rounds"].size(), 20U);
  EXPECT_EQ(run({"simulate", scenario, "--json", "-"}), 0) << said_;
  EXPECT_EQ(nlohmann::json::parse(said_)["policy"], "equal") << "only the JSON is printed";
}

TEST_F(ProcessSimulate, ARunIsReplayedUnderItsOwnAndOtherPolicies) {
  ASSERT_EQ(run(train("run")), 0);
  EXPECT_EQ(run({"replay", path("run"), "--policies", "equal,lb-bsp", "--output", path("again.toml")}), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("rounds under"), HasSubstr("replayed, they take"),
                           HasSubstr("lb-bsp bsp"), HasSubstr("run replayed: seed 1")));
  EXPECT_EQ(run({"simulate", path("again.toml")}), 0) << "the output file is a scenario";
  EXPECT_EQ(run({"replay", path("run"), "--without", "ada"}), 0);
  EXPECT_THAT(said_, HasSubstr("run replayed, without ada"));
}

TEST_F(ProcessSimulate, MistakesGetTheirCodeAndTheNextStep) {
  const std::string scenario = write("two.toml", two_to_one);
  EXPECT_EQ(run({"simulate", scenario, "--policy", "equall"}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("--policy equall"), HasSubstr("did you mean \"equal\"?")));
  EXPECT_EQ(run({"simulate", scenario, "--sync", "spp:2"}), 2);
  EXPECT_THAT(said_, HasSubstr("choose one of bsp"));
  EXPECT_EQ(run({"simulate", path("nowhere.toml")}), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("cannot be read"), HasSubstr("help scenario")));
  EXPECT_EQ(run({"simulate", scenario, "--json", path("no/such/folder.json")}), 74);
  EXPECT_THAT(said_, HasSubstr("could not be written"));
  EXPECT_EQ(run({"simulate", scenario, "--seed", "-1"}), 2);
  EXPECT_THAT(said_, HasSubstr("--seed"));
  EXPECT_EQ(run({"simulate", scenario, "--plicy", "lbb"}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("did you mean \"--policy\"?"), HasSubstr("steelyard simulate --help")));
  EXPECT_EQ(run({"simulate", job_}), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("belongs to a job"), HasSubstr("steelyard train")));
  EXPECT_EQ(run({"help", "scenario"}), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("[[worker]]"), HasSubstr("step_ms"), HasSubstr("random_walk")));
}

}  // namespace
}  // namespace steelyard::simulate_test
