// `steelyard compare` as a process: scenarios in virtual time, jobs as real clusters.
#include "app/tools/compare_command.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/app/cli/two_to_one.h"
#include "tests/support/own_registry.h"
#include "tests/support/process_run.h"

namespace steelyard::compare_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProcessCompare : public ProcessTest {
 protected:
  // The only comparison of a JSON file, and a method of it.
  [[nodiscard]] nlohmann::json comparison(const std::string& file) const {
    return nlohmann::json::parse(text_of(path(file)))["comparisons"][0];
  }
  static nlohmann::json method(const nlohmann::json& comparison, const std::string& policy) {
    for (const auto& it : comparison["methods"]) {
      if (it["policy"] == policy && it["alone"].is_null()) return it;
    }
    return {};
  }
};

TEST_F(ProcessCompare, PoliciesMeetTheSameRandomNumbers) {
  const std::string scenario = write("two.toml", two_to_one);
  EXPECT_EQ(
      run({"compare", scenario, "--policies", "static,lbb", "--repeats", "2", "--json", path("c.json")}), 0)
      << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("scenario two: "), HasSubstr("quick alone"), HasSubstr("static bsp")));
  const auto json = comparison("c.json");
  EXPECT_EQ(json["methods"].size(), 4U) << "with equal shares and the best device alone";
  const auto balanced = method(json, "static"), equal = method(json, "equal");
  EXPECT_NEAR(balanced["gain_on_equal"]["median"], 1.5, 1e-6);
  EXPECT_NEAR(balanced["gain_on_alone"]["median"], 1.5, 1e-6);
  EXPECT_NEAR(balanced["percent_of_ideal"]["median"], 100, 1e-6);
  EXPECT_NEAR(equal["percent_of_ideal"]["median"], 100 * 80.0 / 120, 1e-3);
  EXPECT_NEAR(equal["samples_per_s"]["median"], 1000, 1e-6);
  EXPECT_EQ(equal["runs"].size(), 2U);
  EXPECT_EQ(equal["runs"][1]["seed"], 2);
  // Standard output gets the same bytes.
  EXPECT_EQ(run({"compare", scenario, "--policies", "static,lbb", "--repeats", "2", "--json", "-"}), 0);
  EXPECT_EQ(said_, text_of(path("c.json")));
}

TEST_F(ProcessCompare, ASweepComparesOnceForEachValue) {
  const std::string scenario = write("two.toml", two_to_one);
  EXPECT_EQ(run({"compare", scenario, "--policies", "static", "--set", "job.rounds=10", "--sweep",
                 "network.step_ms=0,80", "--json", path("c.json")}),
            0)
      << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("scenario two, network.step_ms=0: "),
                           HasSubstr("scenario two, network.step_ms=80: ")));
  const auto all = nlohmann::json::parse(text_of(path("c.json")))["comparisons"];
  ASSERT_EQ(all.size(), 2U);
  // 80 samples on the quick one take 80 ms.
  EXPECT_NEAR(method(all[0], "static")["seconds"]["median"], 10 * 0.08, 1e-6);
  EXPECT_NEAR(method(all[1], "static")["seconds"]["median"], 10 * 0.16, 1e-6);
}

TEST_F(ProcessCompare, AScenarioMayTrainOnUserData) {
  const OwnRegistry own({.data_sets = {{"ours", [](const Options&) {
                                          return open_data("synthetic", {{"train", "64"}, {"test", "8"}});
                                        }}}});
  CompareCommand command;
  command.files = {write("ours.toml",
                         "[job]\ntrain = true\nmodel = \"softmax\"\ndata = \"ours\"\nglobal_batch = 32\n"
                         "[[worker]]\nname = \"one\"\nsamples_per_s = 1600\n")};
  command.policies = "equal";
  command.json = path("c.json");
  EXPECT_EQ(run_compare(command), 0);
  EXPECT_EQ(method(comparison("c.json"), "equal")["runs"][0]["evaluations"].size(), 1U);
}

TEST_F(ProcessCompare, AScenarioThatTrainsHasATimeToTarget) {
  const auto trains =
      std::filesystem::path(__FILE__).parent_path() / "../../../examples/scenarios/train_softmax.toml";
  EXPECT_EQ(run({"compare", trains, "--policies", "steelyard", "--target", "0.8", "--json", path("c.json")}),
            0)
      << said_;
  const auto json = comparison("c.json");
  ASSERT_EQ(json["methods"].size(), 3U);
  for (const auto& it : json["methods"]) {
    EXPECT_EQ(it["runs_at_target"], 1) << it;
    EXPECT_GT(it["accuracy"]["median"], 0.8) << it;
  }
  // The same updates, sooner.
  EXPECT_EQ(json["methods"][0]["updates_to_target"], json["methods"][1]["updates_to_target"]);
  EXPECT_GT(method(json, "steelyard")["gain_on_equal"]["median"], 1.2);
  EXPECT_GT(method(json, "steelyard")["gain_on_alone"]["median"], 1);
}

TEST_F(ProcessCompare, AJobTrainsUnderEachPolicyAndOnTheBestWorkerAlone) {
  const auto quick = std::filesystem::path(__FILE__).parent_path() / "../../../examples/jobs/quick.toml";
  EXPECT_EQ(run({"compare", quick, "--policies", "equal,lb-bsp", "--repeats", "2", "--target", "0.5", "--set",
                 "train.epochs=2", "--run-dir", path("all")}),
            0)
      << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("[6/6] fast alone, repeat 2"), HasSubstr("job quick: 2 repeats"),
                           HasSubstr("target: 50.0 %"), HasSubstr("compare.html\n")));
  const auto json = comparison("all/compare.json");
  EXPECT_FALSE(json["interrupted"]);
  ASSERT_EQ(json["methods"].size(), 3U);
  EXPECT_EQ(json["methods"][2]["alone"], "fast");
  for (const auto& it : json["methods"]) {
    EXPECT_EQ(it["runs_good"], 2) << it;
    EXPECT_EQ(it["updates"]["median"], 2 * 32) << it;
    EXPECT_GT(it["accuracy"]["median"], 0.9) << it;
    EXPECT_EQ(it["runs"][0]["samples"], 2 * 8192) << it;
    EXPECT_GT(it["runs"][0]["seconds"], 0) << it;
    EXPECT_GT(it["gain_on_alone"]["least"], 0) << it;
    EXPECT_GE(it["gain_on_alone"]["most"], it["gain_on_alone"]["least"]) << it;
  }
  EXPECT_GT(method(json, "lb-bsp")["percent_of_ideal"]["median"], 0);
  EXPECT_TRUE(json["methods"][2]["percent_of_ideal"].is_null());
  EXPECT_THAT(text_of(path("all/lb-bsp-bsp-2/job.toml")),
              AllOf(HasSubstr("\"lb-bsp\""), HasSubstr("seed = 2")));
  EXPECT_THAT(text_of(path("all/fast-alone-1/job.toml")), Not(HasSubstr("\"slow\"")));
  EXPECT_THAT(text_of(path("all/compare.html")), HasSubstr("</html>"));
}

TEST_F(ProcessCompare, AFailedMethodIsReportedAndTheOthersContinue) {
  EXPECT_EQ(run({"compare", job_, "--policies", "equal,dlb,lb-bsp/asp", "--set", "cluster.sum_order=ordered",
                 "--set", "train.epochs=1", "--run-dir", path("all")}),
            1);
  EXPECT_THAT(said_, AllOf(HasSubstr("will not run: lb-bsp asp"),
                           HasSubstr("lb-bsp asp failed in 1 of 1 runs"), HasSubstr("no order to keep")));
  const auto json = comparison("all/compare.json");
  EXPECT_THAT(method(json, "lb-bsp")["failure"].get<std::string>(), HasSubstr("no order to keep"));
  EXPECT_EQ(method(json, "dlb")["runs_good"], 1);
  EXPECT_EQ(json["methods"][3]["runs_good"], 1);
}

TEST_F(ProcessCompare, CtrlCShowsCompletedRunsAndLeavesNoProcess) {
  Process run(path("run.log"), {"compare", job_, "--policies", "equal,lb-bsp", "--set", "train.epochs=0",
                                "--set", "train.seconds=2", "--repeats", "1000", "--run-dir", path("all")});
  ASSERT_TRUE(eventually([&] { return run.says("[2/3000]"); }));
  ASSERT_TRUE(eventually([&] { return run.living_with("--name bob") != 0; }));
  run.signal(SIGINT);
  ends_clean(run, 75);
  EXPECT_THAT(run.output(), AllOf(HasSubstr("interrupted, some runs are missing"), HasSubstr("equal bsp  ")));
  EXPECT_EQ(method(comparison("all/compare.json"), "equal")["runs_good"], 1);
}

TEST_F(ProcessCompare, AKilledCompareLeavesNoProcessBehind) {
  Process run(path("run.log"), {"compare", job_, "--policies", "equal", "--set", "train.epochs=1000000",
                                "--run-dir", path("all")});
  ASSERT_TRUE(eventually([&] { return run.living_with("--name bob") != 0; }));
  run.signal(SIGKILL);
  EXPECT_EQ(run.code(), -SIGKILL);
  EXPECT_TRUE(eventually([&] { return run.living().empty(); }));
}

TEST_F(ProcessCompare, MistakesAreReportedBeforeAnythingRuns) {
  const std::string scenario = write("two.toml", two_to_one),
                    neither = write("x.toml", "[job]\nname = \"x\"\n");
  EXPECT_EQ(run({"compare", scenario, "--policies", "equal,lbbb"}), 2);
  EXPECT_THAT(said_, HasSubstr("did you mean \"lbb\"?"));
  EXPECT_EQ(run({"compare", scenario, "--run-dir", path("all")}), 2);
  EXPECT_THAT(said_, HasSubstr("is a scenario: --run-dir"));
  EXPECT_EQ(run({"compare", scenario, "--web", ":7080"}), 2);
  EXPECT_THAT(said_, HasSubstr("is a scenario: --web"));
  EXPECT_EQ(run({"compare", scenario, "--set", "train.lr=1"}), 78);
  EXPECT_THAT(said_, HasSubstr("[train] belongs to a job"));
  for (const std::string wrong : {"network.step_ms", "network.step_ms="}) {
    EXPECT_EQ(run({"compare", scenario, "--sweep", wrong}), 2);
    EXPECT_THAT(said_, HasSubstr("--sweep " + wrong + ": give a key and its values"));
  }
  EXPECT_EQ(run({"compare", neither}), 78);
  EXPECT_THAT(said_, HasSubstr("neither a job"));
  EXPECT_EQ(run({"compare", path("nowhere.toml")}), 78);
  EXPECT_THAT(said_, HasSubstr("cannot be read"));
  EXPECT_EQ(run({"compare", job_, "--sync", "spp:2", "--run-dir", path("all")}), 2);
  EXPECT_THAT(said_, HasSubstr("spp:2"));
  EXPECT_EQ(run({"compare", job_, "--policies", "equal", "--set", "policy.lb-bsp.predictor=tea-leaves",
                 "--run-dir", path("all")}),
            78);
  EXPECT_THAT(said_, HasSubstr("option predictor = 'tea-leaves': give one of"));
  EXPECT_EQ(run({"compare", scenario, "--policies", "lbb/"}), 2);
  EXPECT_THAT(said_, HasSubstr("choose one of bsp"));
  EXPECT_EQ(run({"compare", scenario, "--target", "0.5"}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("two.toml does not train"), HasSubstr("train = true")));
  EXPECT_EQ(run({"compare", scenario, "--json", "-", "--html", "-"}), 2);
  EXPECT_THAT(said_, HasSubstr("standard output"));
  EXPECT_EQ(run({"compare", job_, "--run-dir", path("all"), "--html", path("no/such/page.html")}), 74);
  EXPECT_THAT(said_, HasSubstr("--html another place"));
  EXPECT_EQ(run({"compare", job_, job_, "--run-dir", path("all")}), 2);
  EXPECT_THAT(said_, HasSubstr("one job at a time"));
  EXPECT_FALSE(std::filesystem::exists(path("all")));
}

}  // namespace
}  // namespace steelyard::compare_test
