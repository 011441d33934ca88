// Medians and gains of made-up runs.
#include "app/report/compare/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/compare/made.h"

namespace steelyard::summary_test {
namespace {

TEST(CompareSummary, GainsAreMediansOverPairedRepeats) {
  const std::vector<Row> rows = summarise(made_comparison());
  // 2, 2.5 and 12/9 times as fast as equal shares in the same repeat.
  EXPECT_DOUBLE_EQ(rows[1].gain_on_equal->median, 2);
  EXPECT_DOUBLE_EQ(rows[1].gain_on_equal->least, 12.0 / 9);
  EXPECT_DOUBLE_EQ(rows[1].gain_on_equal->most, 2.5);
  EXPECT_DOUBLE_EQ(rows[1].gain_on_alone->median, 1.5);
  EXPECT_DOUBLE_EQ(rows[0].gain_on_equal->median, 1);
  EXPECT_EQ(rows[0].gain_on_equal->half_range(), 0) << "the gain on itself, however its repeats vary";
  EXPECT_DOUBLE_EQ(rows[1].seconds_to_target->median, 4);
  EXPECT_DOUBLE_EQ(rows[1].seconds_to_target->most, 6);
  EXPECT_DOUBLE_EQ(rows[1].updates_to_target->median, 20);
  EXPECT_DOUBLE_EQ(rows[1].percent_of_ideal->median, 92);
  EXPECT_FALSE(rows[2].percent_of_ideal) << "asp has no barrier";
  EXPECT_EQ(rows[2].good, 2U);
  EXPECT_EQ(rows[2].failed, 1U);
  EXPECT_DOUBLE_EQ(rows[2].gain_on_equal->median, 3) << "(4 + 2) / 2: the repeat that failed has no gain";
}

TEST(CompareSummary, MostlyMissingTheTargetLeavesNoTime) {
  Comparison comparison = made_comparison();
  for (std::size_t run : {0, 1}) comparison.entries[1].trials[run].evaluations.resize(1);
  const std::vector<Row> rows = summarise(comparison);
  EXPECT_EQ(rows[1].reached, 1U);
  EXPECT_FALSE(rows[1].seconds_to_target);
  EXPECT_FALSE(rows[1].updates_to_target);
  EXPECT_FALSE(rows[1].gain_on_equal);
  EXPECT_EQ(label(ranked(rows, true).back().contender), "lb-bsp bsp");
  comparison.entries[1].trials[0] = made_trial(6);
  const Row balanced = summarise(comparison)[1];
  EXPECT_DOUBLE_EQ(balanced.seconds_to_target->median, 6) << "4, 6 and infinity";
  EXPECT_DOUBLE_EQ(balanced.gain_on_equal->median, 12.0 / 9) << "2, no gain and 12/9";
  EXPECT_DOUBLE_EQ(balanced.gain_on_equal->least, 12.0 / 9)
      << "a run that misses the target does not widen the range";
  comparison.entries[1].trials.pop_back();
  EXPECT_FALSE(summarise(comparison)[1].gain_on_equal) << "2 and no gain have no median";
}

TEST(CompareSummary, GainsNeedABaseThatReachesTheTarget) {
  Comparison comparison = made_comparison();
  for (Trial& trial : comparison.entries[0].trials) trial.evaluations.clear();
  const std::vector<Row> rows = summarise(comparison);
  EXPECT_FALSE(rows[1].gain_on_equal);
  EXPECT_DOUBLE_EQ(rows[1].gain_on_alone->median, 1.5);
}

TEST(CompareSummary, WithoutATargetGainsCompareTimePerSample) {
  Comparison comparison = made_comparison();
  comparison.target = 0;
  comparison.entries[1].trials[0].samples = 2000;  // in the same time
  const std::vector<Row> rows = summarise(comparison);
  EXPECT_FALSE(rows[1].seconds_to_target);
  EXPECT_DOUBLE_EQ(rows[1].gain_on_equal->median, 2.5) << "4, 2.5 and 1.33";
}

// A fast method that reaches 44 % while others reach 90 %.
TEST(CompareSummary, MethodsWithLowAccuracyRankLast) {
  Comparison comparison = made_comparison();
  comparison.target = 0;
  for (Trial& trial : comparison.entries[2].trials) trial.accuracy = 0.44;
  const auto order = [&] {
    std::string text;
    for (const Row& row : ranked(summarise(comparison), comparison.target > 0))
      text += label(row.contender) + ", ";
    return text;
  };
  EXPECT_EQ(order(), "lb-bsp bsp, fast alone, equal bsp, equal asp, ");
  for (Trial& trial : comparison.entries[2].trials) trial.accuracy = 0.89;
  EXPECT_EQ(order(), "equal asp, lb-bsp bsp, fast alone, equal bsp, ") << "one point less is tolerated";
  for (Trial& trial : comparison.entries[2].trials) trial.accuracy = 0.889;
  EXPECT_EQ(order(), "lb-bsp bsp, fast alone, equal bsp, equal asp, ");
  comparison.entries[1].trials = {failed_trial("it broke")};
  EXPECT_EQ(order(), "fast alone, equal bsp, equal asp, lb-bsp bsp, ")
      << "a method without a result comes last";
  comparison.target = 0.8;
  EXPECT_EQ(order(), "equal asp, fast alone, equal bsp, lb-bsp bsp, ")
      << "with a target, only the time to it counts";
  comparison.target = 0;
  for (Entry& entry : comparison.entries) {
    for (Trial& trial : entry.trials) trial.accuracy = -1;
  }
  EXPECT_EQ(order(), "equal asp, fast alone, equal bsp, lb-bsp bsp, ") << "no accuracy is known";
}

}  // namespace
}  // namespace steelyard::summary_test
