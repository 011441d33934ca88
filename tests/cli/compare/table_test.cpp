// The table for people.
#include "cli/compare/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/compare/made.h"

namespace steelyard {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CompareTable, RanksByTimeToTargetAndSaysByHowMuch) {
  const std::string table = comparison_table(made_comparison());
  EXPECT_THAT(table, StartsWith("made, a job, 3 repeats, seed 7 to 9; target: 80.0 % of the test samples"));
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

TEST(CompareTable, GainsHaveASpreadLikeAllElse) {
  const Comparison comparison = made_comparison();
  const std::vector<Row> rows = summarise(comparison);
  EXPECT_EQ(cells(comparison, rows[1])[5], "2.00 ±29%") << "12/9 to 2.5";
  EXPECT_EQ(cells(comparison, rows[0])[5], "1.00") << "over itself";
  EXPECT_EQ(cells(comparison, rows[1])[6], "1.50 ±17%") << "1 to 1.5";
}

TEST(CompareTable, SaysWhatIsMissing) {
  Comparison comparison = made_comparison();
  comparison.target = 0.95;
  EXPECT_THAT(comparison_table(comparison), AllOf(HasSubstr("not reached"), Not(HasSubstr("is first"))));
  comparison.target = 0.8;
  comparison.entries[1].trials[0].evaluations.clear();
  EXPECT_THAT(comparison_table(comparison), HasSubstr("(2/3)"));
}

TEST(CompareTable, WithoutATargetItShowsTheWholeTime) {
  Comparison comparison = made_comparison();
  comparison.target = 0;
  EXPECT_THAT(comparison_table(comparison), AllOf(Not(HasSubstr("target")), HasSubstr("seconds")));
}

TEST(CompareTable, ShowsWhatAnInterruptionLeft) {
  Comparison comparison = made_comparison();
  comparison.interrupted = true;
  comparison.entries[1].trials.clear();
  EXPECT_THAT(comparison_table(comparison), AllOf(HasSubstr("interrupted"), Not(HasSubstr("lb-bsp"))));
}

}  // namespace
}  // namespace steelyard
