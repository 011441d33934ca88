// The chart of single rounds.
#include "app/report/run/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/app/report/run/made_run.h"

namespace steelyard::lanes_test {
namespace {

Json block_of(const MadeRun& made, const std::vector<std::uint32_t>& workers, std::size_t first = 0) {
  return lanes_block(made.record(), workers, first, "the longest wait", 500);
}

TEST(Lanes, ARoundHasSharesAndTimesOfEachWorker) {
  MadeRun made;
  made.round({"a", "b"}, {50, 50}, {20, 10});
  const Json block = block_of(made, {0, 1});
  EXPECT_EQ(block["names"], Json({"a", "b"}));
  EXPECT_EQ(block["times"], Json({{20}, {10}}));
  EXPECT_EQ(block["shares"], Json({{50}, {50}}));
  EXPECT_EQ(block["ms"], Json({25}));
  EXPECT_EQ(block["slowest"], Json({20}));
  EXPECT_EQ(block["rows"][0], Json({"0", "0.0 s", "25.0", "a", "20.0", "50"}))
      << "the table of the slowest rounds";
}

TEST(Lanes, AWorkerWithoutSamplesHasNoTime) {
  MadeRun made;
  made.round({"a", "b"}, {50, 50}, {20, 20}).round({"a"}, {100}, {45}).round({"a", "b"}, {100, 0}, {45, 0});
  EXPECT_EQ(block_of(made, {1})["times"].dump(), "[[20,null,null]]");
}

TEST(Lanes, FewRoundsAreAllExact) {
  MadeRun made;
  for (int i = 0; i < 700; ++i) made.round({"a"}, {1}, {1});
  const Json block = block_of(made, {0}, 300);
  EXPECT_EQ(block["round"].size(), 700U);
  EXPECT_EQ(block["view"], 300);
  EXPECT_EQ(block["label"], "the longest wait");
  EXPECT_EQ(block_of(made, {0}, 9999)["view"], 688) << "the last twelve rounds";
}

// With 10,000 rounds, the important ones have their own items, and the items cover all rounds.
TEST(Lanes, LastSlowestAndViewedRoundsAreExact) {
  std::vector<double> seconds(10'000, 1);
  seconds[0] = seconds[4321] = 50;
  const std::vector<LaneItem> items = lane_items(seconds, 7000, 500, 2000);
  EXPECT_LE(items.size(), 2000U);
  std::size_t next = 0;
  for (const LaneItem& it : items) {
    EXPECT_EQ(it.first, next);
    next += it.count;
    for (const std::size_t exact : {0U, 4321U, 7000U, 7039U, 9500U, 9999U})
      EXPECT_TRUE(it.count == 1 || exact < it.first || exact >= it.first + it.count) << exact;
  }
  EXPECT_EQ(next, seconds.size());
}

TEST(Lanes, WithoutRoundsTheBlockIsNull) { EXPECT_TRUE(block_of(MadeRun(), {0}).is_null()); }

}  // namespace
}  // namespace steelyard::lanes_test
