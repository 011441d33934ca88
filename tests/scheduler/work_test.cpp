// The pieces of a round and what was said about them.
#include "scheduler/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard {
namespace {

using ::testing::ElementsAre;

Work round() {
  Work work(Open{1, 4, 0, {0, 30}, 30, false, false}, Purpose::train, Time{});
  work.add(1, {{0, 10}, 0});
  work.add(2, {{10, 30}, 1});
  return work;
}
Report report(double seconds, double loss, std::uint64_t correct) {
  Report it;
  it.seconds = seconds;
  it.loss = loss;
  it.correct = correct;
  return it;
}

TEST(Work, IsReportedWhenEveryPieceIs) {
  Work work = round();
  EXPECT_FALSE(work.reported());
  work.report(1, report(1, 10, 5), Time{});
  EXPECT_FALSE(work.reported());
  work.report(2, report(2, 20, 10), Time{});
  EXPECT_TRUE(work.reported());
}

TEST(Work, MeansAreOverTheSamplesReported) {
  Work work = round();
  EXPECT_EQ(work.loss(), 0);
  EXPECT_EQ(work.accuracy(), 0);
  work.report(1, report(1, 10, 5), Time{});
  EXPECT_DOUBLE_EQ(work.loss(), 1.0);
  EXPECT_DOUBLE_EQ(work.accuracy(), 0.5);
  work.report(2, report(2, 50, 10), Time{});
  EXPECT_DOUBLE_EQ(work.loss(), 2.0);
  EXPECT_DOUBLE_EQ(work.accuracy(), 0.5);
}

TEST(Work, WhatWouldBeLeftOfLessThanHalfAShareIsTakenToo) {
  const auto taken = [](std::uint64_t share, std::uint64_t most) {
    return Work(Open{1, 4, 0, {10, 40}, 30, false, false}, Purpose::train, Time{}, 0, true).take(share, most);
  };
  EXPECT_EQ(taken(10, 100), (Interval{10, 20}));
  EXPECT_EQ(taken(20, 100), (Interval{10, 30})) << "half a share is left";
  EXPECT_EQ(taken(21, 100), (Interval{10, 40}));
  EXPECT_EQ(taken(21, 29), (Interval{10, 31})) << "its memory does not hold all";
  EXPECT_EQ(taken(50, 100), (Interval{10, 40}));
}

TEST(Work, AReportCountsOnce) {
  Work work = round();
  work.report(1, report(1, 10, 5), Time{});
  work.report(1, report(1, 10, 5), Time{});
  EXPECT_EQ(work.parts().at(0).samples, 10U);
}

TEST(Work, PartsAreSumsByWorker) {
  Work work = round();
  work.add(3, {{30, 35}, 0});
  work.report(1, report(1.5, 0, 0), Time{} + from_seconds(7));
  work.report(2, report(4, 0, 0), Time{} + from_seconds(8));
  work.report(3, report(2, 0, 0), Time{} + from_seconds(8));
  const std::vector<Work::Part> parts = work.parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].slot, 0U);
  EXPECT_EQ(parts[0].samples, 15U);
  EXPECT_DOUBLE_EQ(parts[0].seconds, 3.5);
  EXPECT_EQ(parts[1].samples, 20U);
  EXPECT_EQ(work.find(1)->since, Time{} + from_seconds(7));
}

TEST(Work, AnOwnerOwesWhatItHasNotReportedInTheOrderOfIds) {
  Work work(Open{1, 4, 0, {0, 50}, 50, false, false}, Purpose::train, Time{});
  for (PieceId id = 1; id <= 5; ++id) work.add(id, {{10 * id - 10, 10 * id}, id == 3 ? 1U : 0U});
  work.report(2, report(1, 0, 0), Time{});
  EXPECT_THAT(work.owed_by(0), ElementsAre(1, 4, 5));
  work.remove(4);
  work.remove(1);
  EXPECT_THAT(work.owed_by(0), ElementsAre(5));
  work.add(9, {{30, 40}, std::nullopt});
  work.add(10, {{0, 10}, 0});
  EXPECT_THAT(work.owed_by(0), ElementsAre(5, 10));
  EXPECT_THAT(work.owed_by(1), ElementsAre(3));
  EXPECT_THAT(work.owed_by(std::nullopt), ElementsAre(9));
  EXPECT_FALSE(work.owes(7));
  EXPECT_EQ(work.find(4), nullptr);
  EXPECT_NE(work.find(9), nullptr);
}

TEST(Work, PiecesMayChangeWhileASelectionIsWalked) {
  Work work = round();
  const auto all = work.select([](const Piece&) { return true; });
  EXPECT_THAT(all, ElementsAre(1, 2));
  for (const PieceId id : all) {
    const Piece piece = *work.find(id);
    work.remove(id);
    work.add(id + 10, piece);
  }
  EXPECT_THAT(work.select([](const Piece&) { return true; }), ElementsAre(11, 12));
  EXPECT_EQ(work.find(1), nullptr);
}

TEST(Work, WhatShardsHaveClosedIsOwedNoMore) {
  Work work = round();
  work.close_unreported();
  EXPECT_TRUE(work.reported());
  EXPECT_TRUE(work.parts().empty()) << "nobody said what it took";
}

}  // namespace
}  // namespace steelyard
