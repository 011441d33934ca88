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
  work.report(1, 0, report(1, 10, 5), Time{});
  EXPECT_FALSE(work.reported());
  work.report(2, 1, report(2, 20, 10), Time{});
  EXPECT_TRUE(work.reported());
}

TEST(Work, MeansAreOverTheSamplesReported) {
  Work work = round();
  EXPECT_EQ(work.loss(), 0);
  EXPECT_EQ(work.accuracy(), 0);
  work.report(1, 0, report(1, 10, 5), Time{});
  EXPECT_DOUBLE_EQ(work.loss(), 1.0);
  EXPECT_DOUBLE_EQ(work.accuracy(), 0.5);
  work.report(2, 1, report(2, 50, 10), Time{});
  EXPECT_DOUBLE_EQ(work.loss(), 2.0);
  EXPECT_DOUBLE_EQ(work.accuracy(), 0.5);
}

TEST(Work, AReportCountsOnce) {
  Work work = round();
  work.report(1, 0, report(1, 10, 5), Time{});
  work.report(1, 0, report(1, 10, 5), Time{});
  EXPECT_EQ(work.parts().at(0).samples, 10U);
}

TEST(Work, PartsAreSumsByWorkerAndTheOneWhoReportedOwns) {
  Work work = round();
  work.report(1, 1, report(1.5, 0, 0), Time{} + from_seconds(7));  // a late copy by another worker
  work.report(2, 1, report(2, 0, 0), Time{} + from_seconds(8));
  ASSERT_EQ(work.parts().size(), 1U);
  EXPECT_EQ(work.parts().at(1).samples, 30U);
  EXPECT_DOUBLE_EQ(work.parts().at(1).seconds, 3.5);
  EXPECT_EQ(work.find(1)->owner, 1U);
  EXPECT_EQ(work.find(1)->since, Time{} + from_seconds(7));
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
