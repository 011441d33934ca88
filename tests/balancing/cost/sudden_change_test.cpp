#include "balancing/cost/cost_filter.h"

#include <gtest/gtest.h>

namespace steelyard::balancing::sudden_change_test {
namespace {

using Verdict = SuddenChange::Verdict;

constexpr double deviation = 0.05;  // deviations beyond 0.2 are outliers

TEST(SuddenChange, SmallDeviationsAreFollowed) {
  SuddenChange change;
  for (const double surprise : {0.1, -0.1, 0.12, 0.0}) {
    const SuddenChange::Answer answer = change.judge(surprise, deviation, false);
    EXPECT_TRUE(answer.follow);
    EXPECT_FALSE(answer.jump);
    EXPECT_EQ(answer.verdict, Verdict::none);
  }
}

TEST(SuddenChange, ASingleOutlierIsHeldBack) {
  SuddenChange change;
  SuddenChange::Answer answer = change.judge(1, deviation, false);
  EXPECT_FALSE(answer.follow || answer.jump);
  answer = change.judge(0, deviation, false);
  EXPECT_TRUE(answer.follow);
  EXPECT_EQ(answer.verdict, Verdict::accident);
}

TEST(SuddenChange, TwoAgreeingDeviationsJumpToTheirMean) {
  SuddenChange change;
  change.judge(1, deviation, false);
  const SuddenChange::Answer answer = change.judge(1.1, deviation, false);
  ASSERT_TRUE(answer.jump);
  EXPECT_NEAR(*answer.jump, 1.05, 1e-12);
  EXPECT_TRUE(answer.confirmed);
  EXPECT_EQ(answer.verdict, Verdict::lasted);
}

TEST(SuddenChange, OfTwoUnequalDeviationsTheSmallerCounts) {
  SuddenChange change;
  change.judge(-0.5, deviation, false);
  const SuddenChange::Answer answer = change.judge(-2, deviation, false);
  ASSERT_TRUE(answer.jump);
  EXPECT_EQ(*answer.jump, -0.5);
  EXPECT_FALSE(answer.confirmed);
}

TEST(SuddenChange, OppositeDeviationsAreTwoAccidents) {
  SuddenChange change;
  change.judge(1, deviation, false);
  const SuddenChange::Answer answer = change.judge(-1, deviation, false);
  EXPECT_FALSE(answer.follow || answer.jump);
  EXPECT_EQ(answer.verdict, Verdict::accident);
}

TEST(SuddenChange, OneDeviationIsEnoughIfBelieved) {
  for (const auto& [next, verdict] : {std::pair{0.1, Verdict::lasted}, {-0.9, Verdict::accident}}) {
    SuddenChange change;
    EXPECT_EQ(change.judge(1, deviation, true).jump, 1);
    EXPECT_EQ(change.judge(next, deviation, false).verdict, verdict);
  }
}

TEST(SuddenChange, StateRoundTrips) {
  for (const bool believe : {false, true}) {
    SuddenChange change, restored;
    change.judge(1, deviation, believe);
    StateWriter writer("change");
    writer(change);
    StateReader reader(writer.str(), "change");
    reader(restored);
    reader.end();
    const SuddenChange::Answer one = change.judge(1, deviation, false),
                               other = restored.judge(1, deviation, false);
    EXPECT_EQ(one.jump, other.jump);
    EXPECT_EQ(one.verdict, other.verdict);
  }
}

}  // namespace
}  // namespace steelyard::balancing::sudden_change_test
