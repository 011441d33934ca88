// The pieces of a round and their reports.
#include "scheduler/rounds/round_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/uncounted.h"

namespace steelyard::round_state_test {
namespace {

using ::testing::ElementsAre;

RoundState round() {
  RoundState state(BeginRound{1, 4, 0, {0, 30}, 30, false, false}, Purpose::train, Time{});
  state.add(1, {{0, 10}, 0});
  state.add(2, {{10, 30}, 1});
  return state;
}
Report report(double seconds, double loss, std::uint64_t correct) {
  Report it;
  it.seconds = seconds;
  it.loss = loss;
  it.correct = correct;
  return it;
}

TEST(RoundState, IsReportedWhenEveryPieceIs) {
  RoundState state = round();
  EXPECT_FALSE(state.reported());
  state.report(1, report(1, 10, 5), Time{});
  EXPECT_FALSE(state.reported());
  state.report(2, report(2, 20, 10), Time{});
  EXPECT_TRUE(state.reported());
}

TEST(RoundState, MeansAreOverTheSamplesReported) {
  RoundState state = round();
  EXPECT_EQ(state.loss(), 0);
  EXPECT_EQ(state.accuracy(1), 0);
  state.report(1, report(1, 10, 5), Time{});
  EXPECT_DOUBLE_EQ(state.loss(), 1.0);
  EXPECT_DOUBLE_EQ(state.accuracy(1), 0.5);
  state.report(2, report(2, 50, 10), Time{});
  EXPECT_DOUBLE_EQ(state.loss(), 2.0);
  EXPECT_DOUBLE_EQ(state.accuracy(1), 0.5);
  EXPECT_DOUBLE_EQ(state.accuracy(4), 0.125) << "of the labels";
}

TEST(RoundState, TheMeanLossIsWeightedIfReportsHaveWeights) {
  RoundState state = round();
  Report first = report(1, 30, 5), second = report(2, 10, 10);
  first.weight = 15;  // of 10 samples
  second.weight = 5;  // of 20
  state.report(1, first, Time{});
  EXPECT_DOUBLE_EQ(state.loss(), 2.0);
  state.report(2, second, Time{});
  EXPECT_DOUBLE_EQ(state.loss(), 2.0);
  EXPECT_DOUBLE_EQ(state.accuracy(1), 0.5) << "over the samples";
}

TEST(RoundState, AccuracyIsUnknownIfAReportHasNoCount) {
  RoundState state = round();
  state.report(1, report(1, 10, 5), Time{});
  state.report(2, report(2, 50, uncounted), Time{});
  EXPECT_DOUBLE_EQ(state.loss(), 2.0);
  EXPECT_EQ(state.accuracy(1), -1);
}

TEST(RoundState, ARestOfLessThanHalfAShareIsTakenToo) {
  const auto taken = [](std::uint64_t share, std::uint64_t most) {
    return RoundState(BeginRound{1, 4, 0, {10, 40}, 30, false, false}, Purpose::train, Time{}, 0, true)
        .take(share, most);
  };
  EXPECT_EQ(taken(10, 100), (Interval{10, 20}));
  EXPECT_EQ(taken(20, 100), (Interval{10, 30})) << "half a share is left";
  EXPECT_EQ(taken(21, 100), (Interval{10, 40}));
  EXPECT_EQ(taken(21, 29), (Interval{10, 31})) << "its memory does not hold all";
  EXPECT_EQ(taken(50, 100), (Interval{10, 40}));
}

TEST(RoundState, AReportCountsOnce) {
  RoundState state = round();
  state.report(1, report(1, 10, 5), Time{});
  state.report(1, report(1, 10, 5), Time{});
  EXPECT_EQ(state.parts().at(0).samples, 10U);
}

TEST(RoundState, PartsAreSumsByWorker) {
  RoundState state = round();
  state.add(3, {{30, 35}, 0});
  state.report(1, report(1.5, 0, 0), Time{} + from_seconds(7));
  state.report(2, report(4, 0, 0), Time{} + from_seconds(8));
  state.report(3, report(2, 0, 0), Time{} + from_seconds(8));
  const std::vector<RoundState::Part> parts = state.parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].slot, 0U);
  EXPECT_EQ(parts[0].samples, 15U);
  EXPECT_DOUBLE_EQ(parts[0].seconds, 3.5);
  EXPECT_EQ(parts[1].samples, 20U);
  EXPECT_EQ(state.find(1)->since, Time{} + from_seconds(7));
}

TEST(RoundState, OwedPiecesAreListedInTheOrderOfIds) {
  RoundState state(BeginRound{1, 4, 0, {0, 50}, 50, false, false}, Purpose::train, Time{});
  for (PieceId id = 1; id <= 5; ++id) state.add(id, {{10 * id - 10, 10 * id}, id == 3 ? 1U : 0U});
  state.report(2, report(1, 0, 0), Time{});
  EXPECT_THAT(state.owed_by(0), ElementsAre(1, 4, 5));
  state.remove(4);
  state.remove(1);
  EXPECT_THAT(state.owed_by(0), ElementsAre(5));
  state.add(9, {{30, 40}, std::nullopt});
  state.add(10, {{0, 10}, 0});
  EXPECT_THAT(state.owed_by(0), ElementsAre(5, 10));
  EXPECT_THAT(state.owed_by(1), ElementsAre(3));
  EXPECT_THAT(state.owed_by(std::nullopt), ElementsAre(9));
  EXPECT_FALSE(state.owes(7));
  EXPECT_EQ(state.find(4), nullptr);
  EXPECT_NE(state.find(9), nullptr);
}

TEST(RoundState, PiecesMayChangeDuringIterationOfASelection) {
  RoundState state = round();
  const auto all = state.select([](const OwedPiece&) { return true; });
  EXPECT_THAT(all, ElementsAre(1, 2));
  for (const PieceId id : all) {
    const OwedPiece piece = *state.find(id);
    state.remove(id);
    state.add(id + 10, piece);
  }
  EXPECT_THAT(state.select([](const OwedPiece&) { return true; }), ElementsAre(11, 12));
  EXPECT_EQ(state.find(1), nullptr);
}

TEST(RoundState, PiecesOfAClosedRoundAreNoLongerOwed) {
  RoundState state = round();
  state.close_unreported();
  EXPECT_TRUE(state.reported());
  EXPECT_TRUE(state.parts().empty()) << "no worker reported its time";
}

}  // namespace
}  // namespace steelyard::round_state_test
