// `plan` as a process, on this machine alone: measurements, trials and output files.
#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "app/tools/candidates.h"
#include "app/tools/plan_command.h"
#include "tests/support/process_run.h"

namespace steelyard::process_plan_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProcessPlan : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    hosts_ = write("hosts.toml",
                   "[[host]]\nname = \"here\"\nscheduler = true\nservers = 1\nport = " + free_port() +
                       "\n[[host.worker]]\nname = \"ada\"\n[[host.worker]]\nname = \"bob\"\nslow = 4\n");
  }

  // Returns the exit code; the output files are in `directory`.
  int plan(const std::string& directory, const std::vector<std::string>& more) {
    std::vector<std::string> words{"plan", hosts_, job_, "--run-dir", path(directory)};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  // Two workers, one four times as fast as the other, with negligible network times.
  [[nodiscard]] std::string measured() const {
    return write("measured.json", measurements_text({{"ada", {{64, 1}, {256, 4}}, 0, 0.1, 0},
                                                     {"bob", {{64, 4}, {256, 16}}, 0, 0.1, 0}}));
  }
  [[nodiscard]] nlohmann::json candidates(const std::string& directory) const {
    return nlohmann::json::parse(text_of(path(directory + "/candidates.json")))["candidates"];
  }

  std::string hosts_;
};

TEST_F(ProcessPlan, MeasuresTriesAndChecks) {
  ASSERT_EQ(plan("plan", {"--seconds", "0.6"}), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("ada alone"), HasSubstr("bob alone"), HasSubstr("bsp"), HasSubstr("diloco:64"),
                    HasSubstr("% off"), HasSubstr("steelyard launch " + path("plan/hosts.toml"))));
  const auto workers = parse_measurements(text_of(path("plan/measured.json")), "measured.json");
  ASSERT_EQ(workers.size(), 2U);
  for (const MeasuredWorker& it : workers) EXPECT_EQ(it.curve.size(), 2U) << it.name;
  EXPECT_TRUE(fs::exists(path("plan/check/result.json")));
  EXPECT_EQ(run({"launch", path("plan/hosts.toml"), job_, "--dry-run"}), 0) << said_;
}

TEST_F(ProcessPlan, MeasurementsReplaceTrials) {
  ASSERT_EQ(plan("plan", {"--measured", measured(), "--no-check", "--add", "big=ada*10"}), 0) << said_;
  EXPECT_FALSE(fs::exists(path("plan/ada-float32")));
  EXPECT_FALSE(fs::exists(path("plan/check")));
  EXPECT_THAT(said_,
              AllOf(HasSubstr("big"), HasSubstr("does not exist yet"), Not(HasSubstr("alone, twice"))));
  EXPECT_THAT(candidates("plan")[0]["workers"].dump(), HasSubstr("big"));
  EXPECT_THAT(text_of(path("plan/hosts.toml")), AllOf(HasSubstr("ada"), Not(HasSubstr("big"))))
      << "a hypothetical worker cannot be started";
}

TEST_F(ProcessPlan, ThePlanIsJson) {
  ASSERT_EQ(plan("plan", {"--measured", measured(), "--no-check", "--json", path("plan.json")}), 0) << said_;
  const auto json = nlohmann::json::parse(text_of(path("plan.json")));
  EXPECT_EQ(json["candidates"], candidates("plan"));
  EXPECT_EQ(json["workers"][0]["name"], "ada");
  EXPECT_EQ(json["best"]["hosts_file"], path("plan/hosts.toml"));
  EXPECT_THAT(said_, HasSubstr(json["best"]["command"].get<std::string>()));
  EXPECT_TRUE(json["best"]["measured_samples_per_second"].is_null()) << "--no-check";
}

TEST_F(ProcessPlan, ExcludedWorkersAreInNoCandidate) {
  ASSERT_EQ(plan("plan", {"--measured", measured(), "--no-check", "--without", "bob"}), 0) << said_;
  EXPECT_THAT(candidates("plan").dump(), AllOf(HasSubstr("ada"), Not(HasSubstr("bob"))));
  EXPECT_THAT(text_of(path("plan/hosts.toml")), Not(HasSubstr("bob")));
}

TEST_F(ProcessPlan, UnsupportedModesAreLeftOutWithTheReason) {
  ASSERT_EQ(plan("plan", {"--measured", measured(), "--no-check", "--set", "train.optimizer=adam"}), 0)
      << said_;
  EXPECT_THAT(said_, HasSubstr("without diloco:64, int4: "));
  EXPECT_THAT(candidates("plan").dump(), AllOf(HasSubstr("bsp"), Not(HasSubstr("diloco"))));
}

TEST_F(ProcessPlan, MistakesAreReportedBeforeAnyTrial) {
  EXPECT_EQ(plan("plan", {"--without", "abe"}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("--without abe"), HasSubstr("ada")));
  EXPECT_EQ(plan("plan", {"--without", "ada", "--without", "bob"}), 2);
  EXPECT_EQ(plan("plan", {"--add", "big"}), 2);
  EXPECT_EQ(plan("plan", {"--set", "train.rl=1"}), 78);
  hosts_ =
      write("far.toml", "[[host]]\nssh = \"ann@lion\"\nscheduler = true\nservers = 1\n[[host.worker]]\n");
  EXPECT_EQ(plan("plan", {}), 78);
  EXPECT_THAT(said_, HasSubstr("run `steelyard plan` there"));
  EXPECT_FALSE(fs::exists(path("plan"))) << "nothing was created";
}

TEST_F(ProcessPlan, IdleWorkersAreNotInTheHostsFile) {
  const std::string far = write("far.json", measurements_text({{"ada", {{64, 1}, {256, 4}}, 0, 0.1, 0},
                                                               {"bob", {{64, 1}, {256, 4}}, 0, 0.1, 5000}}));
  ASSERT_EQ(plan("plan", {"--measured", far, "--no-check", "--set", "train.optimizer=adam"}), 0) << said_;
  EXPECT_EQ(candidates("plan")[0]["workers"], nlohmann::json({"ada"}));
  EXPECT_THAT(text_of(path("plan/hosts.toml")), AllOf(HasSubstr("ada"), Not(HasSubstr("bob"))));
}

TEST_F(ProcessPlan, CtrlCEndsTheCurrentTrial) {
  Process plan(path("plan.log"), {"plan", hosts_, job_, "--run-dir", path("plan"), "--seconds", "60", "--set",
                                  "train.epochs=1000000"});
  ASSERT_TRUE(eventually([&] { return !text_of(path("plan/ada-float32/rounds.jsonl")).empty(); }));
  plan.signal(SIGINT);
  ends_clean(plan, 75);
  EXPECT_TRUE(plan.says("no plan was made"));
}

TEST_F(ProcessPlan, AFailedTrialIsExplained) {
  hosts_ =
      write("wrong.toml",
            "[[host]]\nscheduler = true\nservers = 1\nsteelyard = \"/no/program\"\n[[host.worker]]\nname = "
            "\"ada\"\n");
  EXPECT_EQ(plan("plan", {}), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("trial ada-float32"), HasSubstr("/no/program")));
}

}  // namespace
}  // namespace steelyard::process_plan_test
