// The table as text.
#include "app/report/compare/comparison_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "app/report/terminal_text.h"
#include "tests/app/report/compare/made.h"

namespace steelyard::table_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CompareTable, RanksByTimeToTargetAndShowsTheGains) {
  const std::string table = comparison_table(made_comparison());
  EXPECT_THAT(table, StartsWith("job made: 3 repeats, seeds 7 to 9; target: 80.0 % test accuracy"));
  EXPECT_LT(table.find("equal asp"), table.find("lb-bsp bsp"));
  EXPECT_LT(table.find("lb-bsp bsp"), table.find("fast alone"));
  EXPECT_LT(table.find("fast alone"), table.rfind("equal bsp  "));
  EXPECT_THAT(table, AllOf(HasSubstr("4.00 ±25%"), HasSubstr("92.0"), HasSubstr("90.00 %"),
                           HasSubstr("equal asp failed in 1 of 3 runs: it <broke>")));
  EXPECT_THAT(table,
              HasSubstr("equal asp is first, 3.00 times (2.00 to 4.00) as fast as equal bsp, 2.25 times "
                        "(1.50 to 3.00) as fast as the best device alone; lb-bsp bsp takes 33 % longer"));
  for (std::size_t at = 0, end; (end = table.find('\n', at)) != std::string::npos; at = end + 1) {
    EXPECT_NE(table[end - 1], ' ');
  }
}

TEST(CompareTable, GainsHaveASpread) {
  const Comparison comparison = made_comparison();
  const std::vector<Row> rows = summarise(comparison);
  EXPECT_EQ(cells(comparison, rows[1])[5], "2.00 ±29%") << "12/9 to 2.5";
  EXPECT_EQ(cells(comparison, rows[0])[5], "1.00") << "the gain on itself";
  EXPECT_EQ(cells(comparison, rows[1])[6], "1.50 ±17%") << "1 to 1.5";
}

TEST(CompareTable, MissedTargetsAreShown) {
  Comparison comparison = made_comparison();
  comparison.target = 0.95;
  EXPECT_THAT(comparison_table(comparison), AllOf(HasSubstr("not reached"), Not(HasSubstr("is first"))));
  comparison.target = 0.8;
  comparison.entries[1].trials[0].evaluations.clear();
  EXPECT_THAT(comparison_table(comparison), HasSubstr("(2/3)"));
}

TEST(CompareTable, WithoutATargetItShowsTheTotalTime) {
  Comparison comparison = made_comparison();
  comparison.target = 0;
  EXPECT_THAT(comparison_table(comparison), AllOf(Not(HasSubstr("target")), HasSubstr("seconds")));
}

TEST(CompareTable, EmptyColumnsAreOmitted) {
  Comparison comparison = made_comparison();
  comparison.target = 0;
  EXPECT_THAT(comparison_table(comparison), HasSubstr("accuracy"));
  for (Entry& entry : comparison.entries) {
    for (Trial& trial : entry.trials) trial.accuracy = -1;
  }
  EXPECT_THAT(comparison_table(comparison), AllOf(Not(HasSubstr("accuracy")), HasSubstr("best alone")));
}

TEST(CompareTable, AnInterruptedComparisonShowsFinishedRuns) {
  Comparison comparison = made_comparison();
  comparison.interrupted = true;
  comparison.entries[1].trials.clear();
  EXPECT_THAT(comparison_table(comparison), AllOf(HasSubstr("interrupted"), Not(HasSubstr("lb-bsp"))));
}

TEST(CompareTable, AFastMethodWithLowAccuracyIsNotFirst) {
  Comparison comparison = made_comparison();
  comparison.target = 0;
  for (Trial& trial : comparison.entries[2].trials) trial.accuracy = 0.44;
  EXPECT_THAT(comparison_table(comparison),
              AllOf(HasSubstr("lb-bsp bsp is first, 2.00 times"),
                    HasSubstr("; equal bsp takes 100 % longer; ranked "
                              "behind all that keep the accuracy, more than a point below 90.00 %: equal asp "
                              "with 44.00 %\n")));
  for (int i = 0; i < 5; ++i) {
    comparison.entries.push_back(comparison.entries[2]);
    comparison.entries.back().contender.sync = "ssp:" + std::to_string(i + 1);
  }
  EXPECT_THAT(comparison_table(comparison), HasSubstr("equal ssp:3 with 44.00 % and 2 more\n"));
  comparison.entries.resize(4);
  comparison.entries.erase(comparison.entries.begin() + 1);
  EXPECT_THAT(
      comparison_table(comparison),
      HasSubstr("is fastest: more machines gain nothing for this job; of the methods, equal bsp is first, "
                "0.75 times (0.60 to 0.75) as fast as the best device alone; ranked behind all"));
  for (Trial& trial : comparison.entries[0].trials) trial.accuracy = 0.45;
  EXPECT_THAT(comparison_table(comparison), Not(HasSubstr("is first")))
      << "only the single device keeps the accuracy";
}

std::vector<std::string> lines_of(const std::string& table) {
  std::vector<std::string> lines;
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(CompareTable, FitsTheTerminal) {
  Comparison comparison = made_comparison();
  comparison.entries.push_back(
      {{"steelyard", "oneshot:epoch", ""}, {failed_trial("\033[2Jit\nsaid: " + std::string(50, 'x'))}});
  comparison.entries.back().trials[0].failure +=
      " and more words than there is room for in a line of a terminal";
  comparison.entries[3].contender.alone = std::string(300, 'n');
  for (const std::size_t width : {60U, 80U, 100U, 120U}) {
    const std::string table = comparison_table(comparison, width);
    for (const std::string& line : lines_of(table)) {
      EXPECT_LE(columns_of(line), width) << line;
      EXPECT_TRUE(line.find_first_of("\033\r") == std::string::npos) << line;
    }
    // Nothing is omitted.
    for (const std::string word : {"seconds to", "updates", "samples", "% of", "equal bsp", "best alone",
                                   "accuracy", "4.00 ±25%", "90.00 %", "2.00 ±29%", "room for"}) {
      EXPECT_THAT(table, HasSubstr(word)) << width;
    }
  }
  // Without a width the table is not split.
  comparison.entries.pop_back();
  const std::string table = comparison_table(comparison);
  EXPECT_EQ(table.find("\n\n"), std::string::npos);
  EXPECT_NE(comparison_table(comparison, 80).find("\n\n"), std::string::npos);
}

}  // namespace
}  // namespace steelyard::table_test
