// The document of runs: its content, and the size of its page.
#include "app/report/run/run_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/report/page/page.h"
#include "core/random.h"
#include "tests/app/report/run/made_run.h"

namespace steelyard::run_page_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;

constexpr std::size_t most = 2'000'000;  // bytes

Json block_of(const Json& document, const std::string& id, std::size_t section = 0) {
  for (const Json& it : document["sections"][section]["blocks"]) {
    if (it["id"] == id) return it;
  }
  return {};
}

std::string finding_in(const Json& document) {
  const Json block = block_of(document, "finding");
  return text_at(block, "lead") + text_at(block, "text");
}

TEST(RunPage, NamesTheSlowestWorkerAndABetterSplit) {
  const Json document = run_document({reported(made_run())});
  EXPECT_THAT(
      finding_in(document),
      AllOf(HasSubstr("Worker eighth held the others up. "), HasSubstr("2.16 times as fast"),
            HasSubstr("eighth 42 samples instead of 100, half 172 samples instead of 100, quarter 86")));
  EXPECT_THAT(block_of(document, "advice").dump(), HasSubstr("cluster.policy=steelyard"));
  EXPECT_EQ(block_of(document, "better")["rows"][0], Json({"eighth", "100", "42", "-58"}));
  EXPECT_THAT(block_of(document, "cards").dump(), AllOf(HasSubstr("75.00 %"), HasSubstr("test accuracy")));
  EXPECT_THAT(block_of(document, "events-a").dump(),
              AllOf(HasSubstr("Work moved: 1"), HasSubstr("round 40: ")));
  EXPECT_THAT(block_of(document, "events-b").dump(), HasSubstr("'quarter' continues"));
  EXPECT_THAT(block_of(document, "about").dump(),
              AllOf(HasSubstr("box, a CPU, 4 cores"), HasSubstr("1.2.3")));
}

TEST(RunPage, LossAndAccuracyComeFirst) {
  std::vector<std::string> pictures;
  const Json document = run_document({reported(made_run())});
  for (const Json& it : document["sections"][0]["blocks"]) {
    if (it["type"] == "chart" || it["type"] == "bars" || it["type"] == "lanes") pictures.push_back(it["id"]);
  }
  EXPECT_THAT(pictures, testing::ElementsAre("loss", "accuracy", "waiting", "lanes", "shares", "times", "use",
                                             "speed"));
}

// The job's data set is a default then, and training rounds have no count of correct answers.
TEST(RunPage, AScriptHasNeitherDataSetNorTrainingAccuracy) {
  MadeRun made;
  made.line({{"round", 0},
             {"purpose", "train"},
             {"begin", 0},
             {"end", 30},
             {"workers", {"a"}},
             {"shares", {30}},
             {"compute_ms", {5}},
             {"round_ms", 8},
             {"at_ms", 8},
             {"loss", 1},
             {"accuracy", 0}});
  made.evaluation(0.5);
  const ReportedRun run =
      reported_run("runs/made-1", "[model]\nname = \"external\"\n[[worker]]\nname = \"a\"\n", made.record());
  EXPECT_EQ(run.trouble, "");
  EXPECT_THAT(run.about, testing::StartsWith("external, "));
  const Json chart = block_of(run_document({run}), "accuracy");
  ASSERT_EQ(chart["series"].size(), 1U);
  EXPECT_EQ(chart["series"][0]["name"], "test");
}

TEST(RunPage, WithoutAnAccuracyThereIsTheTestLoss) {
  MadeRun made;
  for (const char* purpose : {"train", "evaluate"}) {
    made.line({{"round", 0},
               {"purpose", purpose},
               {"begin", 0},
               {"end", 30},
               {"workers", {"a"}},
               {"shares", {30}},
               {"compute_ms", {5}},
               {"round_ms", 8},
               {"at_ms", 8},
               {"loss", -1.5},
               {"accuracy", nullptr}});
  }
  const std::string text = run_document({reported_run("runs/made-1", "", made.record())}).dump();
  EXPECT_THAT(text, AllOf(HasSubstr("test loss"), HasSubstr("-1.5000")));
  EXPECT_THAT(text, testing::Not(HasSubstr("ccuracy")));
}

TEST(RunPage, IsSelfContainedAndEscapesRecordedText) {
  MadeRun made;
  made.process(0).note("<b>bold</b>").round({"<i>", "b"}, {50, 50}, {20, 10}).note("\033[2J</script>");
  ReportedRun run = reported(made);
  run.job = "a = \"<script>\"\nb = 1\n";
  run.name = run.about = run.path = "<u>";
  std::string text = page(run_document({run, run}));
  text.erase(text.find(chart_script), std::string(chart_script).size());
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<b>bold")), Not(HasSubstr("<i>")), Not(HasSubstr("<u>")),
                          Not(HasSubstr("\"<script>")), HasSubstr("&lt;script&gt;&quot;\nb = 1\n"),
                          Not(HasSubstr("\033"))));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("http")), Not(HasSubstr("src=")), Not(HasSubstr("url(")),
                          Not(HasSubstr("@import"))));
}

TEST(RunPage, SeveralRunsBeginWithATable) {
  ReportedRun other = reported(made_run());
  other.path = "runs/other-2";
  Json document = run_document({reported(made_run()), other});
  EXPECT_EQ(document["kind"], "runs");
  EXPECT_EQ(document["sections"][0]["title"], "2 runs");
  EXPECT_EQ(document["sections"][2]["title"], "other-2");
  EXPECT_THAT(block_of(document, "accuracy").dump(),
              AllOf(HasSubstr("made-1"), Not(HasSubstr("cannot be compared"))));
  other.data = "mnist";
  document = run_document({reported(made_run()), other});
  EXPECT_THAT(block_of(document, "accuracy")["note"].get<std::string>(), HasSubstr("cannot be compared"));
}

TEST(RunPage, ARunHasTheColourOfItsMethod) {
  ReportedRun other = reported(made_run());
  other.path = "runs/other-2";
  other.policy = "lb-bsp";
  const Json lines = block_of(run_document({reported(made_run()), other}), "accuracy")["series"];
  EXPECT_EQ(lines[0]["colour"], method_colour("equal", "bsp"));
  EXPECT_EQ(lines[1]["colour"], method_colour("lb-bsp", "bsp"));
}

TEST(RunPage, ARunWithoutRoundsHasAPage) {
  MadeRun made;
  ReportedRun run = reported(made);
  run.record = made.record();
  EXPECT_EQ(finding_in(run_document({run})), "No round of training has ended.");
  EXPECT_THAT(block_of(run_document({run}), "about").dump(), HasSubstr("none yet"));
  made.round({"a"}, {50}, {20});
  run.record = made.record();
  EXPECT_THAT(finding_in(run_document({run})), HasSubstr("One worker computed alone"));
}

TEST(RunPage, ShowsTheStateOfTheRun) {
  ReportedRun run = reported(made_run());
  const auto state = [&] { return run_document({run})["sections"][0]["state"]; };
  EXPECT_EQ(state()["name"], "finished");
  EXPECT_THAT(state()["text"].get<std::string>(), HasSubstr("75.00 % test accuracy"));
  run.record = made_run().record(R"({"outcome": "server lost", "text": "it broke"})");
  EXPECT_EQ(state()["name"], "failed");
  EXPECT_THAT(state()["text"].get<std::string>(), HasSubstr("server lost: it broke"));
  run.record = made_run().record();
  EXPECT_EQ(state()["name"], "interrupted") << "there is no result";
  run.life.training = true;
  EXPECT_EQ(state()["name"], "running");
}

TEST(RunPage, AWaitingJobListsItsWorkers) {
  ReportedRun run = reported(MadeRun());
  run.machines = {{"a", {}}, {"b", {}}, {"c", {}}};
  run.life.training = true;
  MadeRun made;
  made.note("worker 'b' joined");
  run.record = made.record();
  const Json document = live_document(run);
  EXPECT_EQ(document["sections"][0]["state"]["name"], "waiting");
  EXPECT_EQ(finding_in(document), "The job waits for 2 workers. 1 of 3 workers joined. Missing: a, c.");
  EXPECT_EQ(block_of(document, "joined")["rows"][1], Json({"b", "joined"}));
  EXPECT_TRUE(block_of(document, "cards").is_null());
}

TEST(RunPage, MachinesShowWhatWorkersMeasured) {
  MadeRun made;
  made.line({{"round", 0},
             {"purpose", "train"},
             {"begin", 0},
             {"end", 30},
             {"workers", {"a", "b"}},
             {"shares", {10, 20}},
             {"compute_ms", {5, 6}},
             {"round_ms", 8},
             {"at_ms", 8},
             {"cpu", {0.5, nullptr}},
             {"memory_mb", {1200, nullptr}}});
  made.line({{"round", 1},
             {"purpose", "train"},
             {"begin", 30},
             {"end", 60},
             {"workers", {"a", "b"}},
             {"shares", {10, 20}},
             {"compute_ms", {5, 6}},
             {"round_ms", 8},
             {"at_ms", 16},
             {"cpu", {1, nullptr}},
             {"memory_mb", {1300, nullptr}}});
  ReportedRun run = reported(made);
  run.machines = {{"b", {{"device", "cuda:0"}}}};
  const Json machines = block_of(run_document({run}), "machines");
  EXPECT_EQ(machines["rows"][0], Json({"a", "75 %", "50 %", "1,200 MB", "-"}));
  EXPECT_EQ(machines["rows"][1], Json({"b", "-", "-", "-", "cuda:0"}));
}

TEST(RunPage, AJobWithoutRecentRoundsIsPaused) {
  ReportedRun run = reported(made_run());
  run.record = made_run().record();
  run.life = {.training = true, .since_round = 2};
  EXPECT_EQ(live_document(run)["sections"][0]["state"]["name"], "running");
  run.life.since_round = 60;
  EXPECT_EQ(live_document(run)["sections"][0]["state"]["name"], "paused");
}

TEST(RunPage, AlternatingSlowWorkersAreNamedTogether) {
  MadeRun made;
  for (int i = 0; i < 60; ++i)
    made.round({"a", "b"}, {50, 50}, {i % 2 == 0 ? 20. : 60., i % 2 == 0 ? 60. : 20.});
  EXPECT_THAT(finding_in(run_document({reported(made)})),
              AllOf(HasSubstr("No single worker held the others up"), HasSubstr("1.2 s for a, 1.2 s for b")));
}

TEST(RunPage, SmallGainsCauseNoAdvice) {
  MadeRun made;
  for (int i = 0; i < 60; ++i) made.round({"a", "b"}, {50, 50}, {20, 20.8});
  const Json document = run_document({reported(made)});
  EXPECT_THAT(finding_in(document), HasSubstr("The split was good."));
  EXPECT_TRUE(block_of(document, "advice").is_null());
  EXPECT_TRUE(block_of(document, "better").is_null());
  EXPECT_TRUE(block_of(document, "stretches").is_null());
}

TEST(RunPage, WithoutABarrierNoWorkerIsNamed) {
  ReportedRun run = reported(made_run());
  run.terms.barrier = false;
  const Json document = run_document({run});
  EXPECT_THAT(finding_in(document),
              AllOf(HasSubstr("did not wait for each other"), Not(HasSubstr("held the others up"))));
  EXPECT_TRUE(block_of(document, "use").is_null());
  EXPECT_TRUE(block_of(document, "lanes").is_null());
}

TEST(RunPage, AWorkerWithoutSamplesIsResting) {
  MadeRun made;
  for (int i = 0; i < 20; ++i)
    made.round({"a", "b", "idle"}, {50, 50, i == 0 ? 1U : 0U}, {20, 20, i == 0 ? 1. : 0.});
  const Json row = block_of(run_document({reported(made)}), "waiting")["rows"][2];
  EXPECT_EQ(row["parts"][3][0], "resting");
  EXPECT_GT(row["parts"][3][1].get<double>(), 0.9);
}

TEST(RunPage, AShortRunHasNoPercentOfIdeal) {
  ReportedRun run = reported(made_run());
  run.record.result.percent_of_ideal = 131;
  EXPECT_THAT(block_of(run_document({run}), "cards").dump(), HasSubstr("too short to tell"));
}

// A run as long as the demo, one far longer, and one with 100 workers.
TEST(RunPage, PagesOfLongRunsStaySmall) {
  Random random(7);
  for (const auto& [rounds, workers] : {std::pair<int, int>{1180, 3}, {100'000, 3}, {2000, 100}}) {
    std::vector<std::string> names;
    for (int i = 0; i < workers; ++i) names.push_back("worker-" + std::to_string(i));
    MadeRun made;
    for (int k = 0; k < rounds; ++k) {
      std::vector<std::uint64_t> shares;
      std::vector<double> ms;
      for (int i = 0; i < workers; ++i) {
        shares.push_back(100 + random.below(100));
        ms.push_back(10 + random.uniform() * 30);
      }
      made.round(names, shares, ms);
    }
    const Json document = run_document({reported(made)});
    EXPECT_THAT(page(document).size(), Lt(most)) << rounds << " rounds of " << workers;
    EXPECT_LE(block_of(document, "loss")["x"].size(), 2000U);
    EXPECT_THAT(live_part(document), Not(HasSubstr("nan")));
  }
}

}  // namespace
}  // namespace steelyard::run_page_test
