// The report of runs as a page: what it says, what it needs, how large it is.
#include "app/report/run/run_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/app/report/run/made_run.h"

namespace steelyard::run_page_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;

constexpr std::size_t most = 2'000'000;  // bytes

TEST(RunPage, SaysWhoHeldTheOthersUpWhenAndWhatWouldBeBetter) {
  EXPECT_THAT(run_page({reported(made_run())}),
              AllOf(HasSubstr("eighth</b> held the others up"),
                    HasSubstr("from 0.0 s to 3.4 s the others waited for <b>eighth</b> 59 %"),
                    HasSubstr("<b>42 eighth + 172 half + 86 quarter</b> samples instead of 100 + 100 + 100"),
                    HasSubstr("<b>2.16</b> times as fast"), HasSubstr("cluster.policy=steelyard"),
                    HasSubstr("75.00 %"), HasSubstr("work moved from round 40"),
                    HasSubstr("box, a CPU, 4 cores"), HasSubstr("1.2.3"), HasSubstr("makes progress again")));
}

TEST(RunPage, NeedsNothingFromOutsideAndEscapesWhatOthersSaid) {
  MadeRun made;
  made.process(0).said("<b>bold</b>").round({"<i>", "b"}, {50, 50}, {20, 10}).said("\033[2J</script>");
  ReportedRun run = reported(made);
  run.job = "a = \"<script>\"\nb = 1\n";
  run.name = run.about = run.path = "<u>";
  const std::string page = run_page({run, run});
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<b>bold")), Not(HasSubstr("<i>")), Not(HasSubstr("<u>")),
                          Not(HasSubstr("\"<script>")), HasSubstr("&lt;script&gt;&quot;\nb = 1\n"),
                          Not(HasSubstr("\033"))));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http")), Not(HasSubstr("src=")), Not(HasSubstr("url(")),
                          Not(HasSubstr("@import"))));
}

TEST(RunPage, OfManyRunsBeginsWithATable) {
  ReportedRun other = reported(made_run());
  other.path = "runs/other-2";
  const std::string page = run_page({reported(made_run()), other});
  EXPECT_THAT(page, AllOf(HasSubstr("2 runs"), HasSubstr("Accuracy of all runs"),
                          HasSubstr("<h1>made-1</h1>"), HasSubstr("<h1>other-2</h1>")));
}

TEST(RunPage, ARunThatJustBeganHasAPage) {
  MadeRun made;
  ReportedRun run = reported(made);
  run.record = made.record();
  EXPECT_THAT(run_page({run}), AllOf(HasSubstr("No round of training has ended"), HasSubstr("not yet")));
  made.round({"a"}, {50}, {20});
  run.record = made.record();
  EXPECT_THAT(run_page({run}), HasSubstr("One worker computed alone"));
}

// With one stretch of waiting "then" is clear; with several it is not.
TEST(RunPage, SaysWhenTheSplitWouldHaveBeenBetter) {
  EXPECT_THAT(run_page({reported(made_run())}), HasSubstr("A better split then: "));
  MadeRun made = made_run();
  for (int i = 0; i < 20; ++i) made.round({"eighth", "half", "quarter"}, {10, 250, 40}, {8, 50, 20}, 60);
  EXPECT_THAT(run_page({reported(made)}), HasSubstr("A better split from 0.0 s to 3.4 s: "));
}

TEST(RunPage, WhereWorkersTakeTurnsNobodyIsBlamedAlone) {
  MadeRun made;
  for (int i = 0; i < 60; ++i)
    made.round({"a", "b"}, {50, 50}, {i % 2 == 0 ? 20. : 60., i % 2 == 0 ? 60. : 20.});
  EXPECT_THAT(run_page({reported(made)}),
              AllOf(HasSubstr("took turns in holding each other up"),
                    HasSubstr("1.2 s for <b>a</b>, 1.2 s for <b>b</b>"), Not(HasSubstr("class=\"who\""))));
}

TEST(RunPage, WithoutABarrierNobodyIsBlamed) {
  ReportedRun run = reported(made_run());
  run.terms.barrier = false;
  EXPECT_THAT(run_page({run}),
              AllOf(HasSubstr("do not wait for each other"), Not(HasSubstr("held the others up.")),
                    Not(HasSubstr("Use of the time"))));
}

// As long as the demo's, and far longer and wider.
TEST(RunPage, IsSmallHoweverLongTheRun) {
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
    const std::string page = run_page({reported(made)});
    EXPECT_THAT(page.size(), Lt(most)) << rounds << " rounds of " << workers;
    EXPECT_THAT(page, Not(HasSubstr("nan")));
  }
}

}  // namespace
}  // namespace steelyard::run_page_test
