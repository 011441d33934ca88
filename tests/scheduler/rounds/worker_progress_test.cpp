// Whether a worker makes progress with the pieces it owes.
#include "scheduler/members/members.h"

#include <gtest/gtest.h>

namespace steelyard::worker_progress_test {
namespace {

constexpr NodeId server{Role::shard, 1};
constexpr Duration dead = std::chrono::seconds(10);

Time at(double s) { return Time{from_seconds(s)}; }

WorkerBeat beat(std::uint64_t progress, bool busy = true, std::vector<NodeId> unreached = {}) {
  return {1, busy ? std::vector<PieceId>{7} : std::vector<PieceId>{}, 1, std::move(unreached), progress};
}

TEST(WorkerProgress, StandstillCountsFromTheLastProgressOrPossibleStart) {
  WorkerProgress progress;
  progress.heard(at(1), beat(1));
  progress.heard(at(5), beat(2));
  progress.heard(at(9), beat(2));
  EXPECT_EQ(progress.standstill(at(11), at(0)), std::chrono::seconds(6));
  EXPECT_EQ(progress.standstill(at(11), at(8)), std::chrono::seconds(3)) << "it could not begin before";
}

TEST(WorkerProgress, AnIdleWorkerDoesNotStandStill) {
  WorkerProgress progress;
  progress.heard(at(1), beat(1));
  progress.heard(at(100), beat(1, false));
  EXPECT_EQ(progress.standstill(at(101), at(0)), std::chrono::seconds(1));
}

TEST(WorkerProgress, TheLimitFollowsTheLongestStandstillSeen) {
  WorkerProgress progress;
  progress.heard(at(1), beat(1));
  EXPECT_FALSE(progress.too_long(std::chrono::seconds(60), at(61), dead));
  EXPECT_TRUE(progress.too_long(std::chrono::seconds(61), at(62), dead));
  progress.heard(at(41), beat(2));  // one micro-batch takes 40 s here
  EXPECT_FALSE(progress.too_long(std::chrono::seconds(160), at(201), dead));
  EXPECT_TRUE(progress.too_long(std::chrono::seconds(161), at(202), dead));
}

TEST(WorkerProgress, ACutOffWorkerGetsTheTimeOfASilentOne) {
  WorkerProgress progress;
  progress.heard(at(1), beat(1, true, {server}));
  EXPECT_FALSE(progress.too_long(std::chrono::seconds(11), at(11), dead))
      << "it has been cut off for only 10 s";
  EXPECT_TRUE(progress.too_long(std::chrono::seconds(11), at(12), dead));
  EXPECT_FALSE(progress.too_long(std::chrono::seconds(9), at(12), dead)) << "other servers still send";
  progress.heard(at(13), beat(1));
  EXPECT_EQ(progress.cut_off(at(14)), Duration{});
  progress.heard(at(15), beat(1, true, {server}));
  EXPECT_EQ(progress.cut_off(at(16)), std::chrono::seconds(1)) << "the count restarts";
}

}  // namespace
}  // namespace steelyard::worker_progress_test
