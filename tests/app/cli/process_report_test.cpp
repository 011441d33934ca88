// `steelyard report` as a process, and its page drawn by a browser.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/report/compare/html.h"
#include "app/report/page/page.h"
#include "app/report/run/run_page.h"
#include "tests/app/report/compare/made.h"
#include "tests/app/report/run/made_run.h"
#include "tests/support/drawn_page.h"

namespace steelyard::process_report_test {
namespace {

using testing::AllOf;
using testing::Gt;
using testing::HasSubstr;

using ProcessReport = ProcessTest;

TEST_F(ProcessReport, MakesAPageOfARun) {
  ASSERT_EQ(run(train("run", {"train.epochs=1"})), 0);
  EXPECT_THAT(text_of(path("run/events.jsonl")),
              AllOf(HasSubstr("\"began\""), HasSubstr("\"first_round\":0"), HasSubstr("finished")));
  ASSERT_EQ(run({"report", path("run")}), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("run/report.html\n"));
  const std::string page = text_of(path("run/report.html"));
  EXPECT_THAT(page, AllOf(HasSubstr("Round by round"), HasSubstr("<b class=\"finished\">"),
                          HasSubstr("samples a batch")));
  ASSERT_EQ(run({"report", path("run"), path("run"), "--output", path("both.html")}), 0) << said_;
  EXPECT_THAT(text_of(path("both.html")), HasSubstr("2 runs"));
}

TEST_F(ProcessReport, MistakesAreReported) {
  EXPECT_EQ(run({"report", path("nowhere")}), 74);
  EXPECT_THAT(said_, HasSubstr("nowhere/job.toml"));
  folder_.write("run/job.toml", "[cluster]\nfuture = 1\n");
  folder_.write("run/rounds.jsonl", made_run().rounds);
  EXPECT_EQ(run({"report", path("run"), "-o", path("no/such/folder.html")}), 74);
  EXPECT_EQ(run({"report", path("run")}), 0) << "what the job alone tells is left out";
  EXPECT_THAT(said_, AllOf(HasSubstr("future"), HasSubstr("the page is incomplete")));
  EXPECT_THAT(text_of(path("run/report.html")), HasSubstr("Worker eighth held the others up"));
}

TEST_F(ProcessReport, RunsAreListedWithTheirStatus) {
  EXPECT_EQ(run({"runs", path("")}), 0);
  EXPECT_THAT(said_, HasSubstr("no run in"));
  ASSERT_EQ(run(train("done", {"train.epochs=1"})), 0);
  {
    Process endless(path("endless.log"), train("cut", {"train.epochs=1000000"}));
    ASSERT_TRUE(eventually([&] { return !list_checkpoints(path("cut/checkpoints")).empty(); }));
    EXPECT_TRUE(eventually([&] {  // the estimate needs some completed rounds
      return run({"status", path("cut")}) == 0 && said_.find(" left") != std::string::npos;
    }));
    EXPECT_THAT(said_, AllOf(HasSubstr("cut: running, epoch"), HasSubstr("of 1000000")));
  }
  EXPECT_TRUE(eventually([&] {
    return run({"runs", path("")}) == 0 && said_.find("interrupted") != std::string::npos;
  }));
  EXPECT_THAT(said_, AllOf(HasSubstr("began (UTC)"), HasSubstr("finished, accuracy "),
                           HasSubstr("steelyard train " + path("cut/job.toml") + " --run-dir " + path("cut") +
                                     " --resume")));
  ASSERT_EQ(run({"status", path("done"), "--json", "-"}), 0) << said_;
  const auto status = nlohmann::json::parse(said_);
  EXPECT_EQ(status["state"], "finished");
  EXPECT_THAT(status["text"].get<std::string>(), HasSubstr("done: finished, epoch 1 of 1"));
  EXPECT_EQ(status["workers"].size(), 2U);
  EXPECT_EQ(run({"runs", path("nowhere")}), 74);
  EXPECT_EQ(run({"status", path("nowhere")}), 74);
}

void expect_whole(const nlohmann::json& found, int width, bool dark) {
  ASSERT_EQ(found["troubles"], nlohmann::json::array()) << found;
  EXPECT_EQ(found["width"], width);
  EXPECT_EQ(found["dark"], dark);
  EXPECT_EQ(found["paper"], dark ? "rgb(22, 25, 29)" : "rgb(255, 255, 255)");
  EXPECT_FALSE(found["wide"]) << "the page itself never scrolls sideways";
  EXPECT_EQ(found["beyond"], nlohmann::json::array()) << "nothing is cut off at the right";
  EXPECT_EQ(found["empty"], 0) << "all pictures are drawn";
  EXPECT_FALSE(found["overlap"]) << "labels of rounds are apart";
}

TEST_F(DrawnPage, OfARunWorksAtTwoWidthsInLightAndDark) {
  const std::string text = page(run_document({reported(made_run())}));
  EXPECT_LT(text.size(), 2U << 20);
  for (const int width : {500, 1280}) {
    for (const bool dark : {false, true}) {
      SCOPED_TRACE(testing::Message() << width << (dark ? " dark" : " light"));
      const nlohmann::json found = drawn(text, width, dark);
      expect_whole(found, width, dark);
      EXPECT_EQ(found["plots"], 6);
      EXPECT_THAT(found["plot"].get<std::string>(), AllOf(HasSubstr("training"), HasSubstr("at ")));
      EXPECT_THAT(found["lanes"].get<std::string>(),
                  AllOf(HasSubstr("round "), HasSubstr("computed"), HasSubstr("exchange")));
      EXPECT_NE(found["before"][0], found["after"][0]) << "+ zooms";
      EXPECT_NE(found["before"][1], found["after"][1]);
      EXPECT_THAT(found["slid"].get<std::string>(), HasSubstr("rounds 60 to "));
    }
  }
}

TEST_F(DrawnPage, OfAComparisonHasTheSameScript) {
  const std::string text = page(comparison_document({made_comparison()}));
  EXPECT_LT(text.size(), 2U << 20);
  for (const int width : {500, 1280}) {
    for (const bool dark : {false, true}) {
      SCOPED_TRACE(testing::Message() << width << (dark ? " dark" : " light"));
      const nlohmann::json found = drawn(text, width, dark);
      expect_whole(found, width, dark);
      EXPECT_THAT(found["plot"].get<std::string>(), HasSubstr("lb-bsp bsp"));
    }
  }
}

}  // namespace
}  // namespace steelyard::process_report_test
