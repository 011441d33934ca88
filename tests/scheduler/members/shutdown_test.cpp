// How a job ends: which outcome stands, and when members receive it.
#include "scheduler/members/shutdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::shutdown_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Time at(double seconds) { return Time{} + from_seconds(seconds); }

constexpr NodeId ann{Role::worker, 1}, ben{Role::worker, 2};

TEST(Shutdown, TheFirstFailureStands) {
  Shutdown shutdown;
  EXPECT_TRUE(shutdown.end(Outcome::server_lost, "first"));
  EXPECT_FALSE(shutdown.end(Outcome::non_finite, "second"));
  EXPECT_EQ(shutdown.outcome().text, "first");
  EXPECT_EQ(shutdown.phase(), Phase::saving);
}

TEST(Shutdown, AFailureReplacesSuccessAndNotTheReverse) {
  Shutdown shutdown;
  EXPECT_TRUE(shutdown.end(Outcome::finished, ""));
  EXPECT_FALSE(shutdown.end(Outcome::interrupted, "requested"));
  EXPECT_TRUE(shutdown.end(Outcome::server_lost, "gone"));
  EXPECT_FALSE(shutdown.end(Outcome::finished, ""));
  EXPECT_EQ(shutdown.outcome().outcome, Outcome::server_lost);
}

TEST(Shutdown, NothingReplacesASentOutcome) {
  Shutdown shutdown;
  shutdown.end(Outcome::finished, "");
  shutdown.stop(at(1), "", "", {ann});
  EXPECT_FALSE(shutdown.end(Outcome::server_lost, "gone"));
  EXPECT_EQ(shutdown.outcome().outcome, Outcome::finished);
  EXPECT_EQ(shutdown.phase(), Phase::stopping);
}

TEST(Shutdown, AFailedLastCheckpointReplacesSuccess) {
  Shutdown good, bad;
  good.end(Outcome::finished, "");
  EXPECT_EQ(good.stop(at(1), "disk full", "", {}).outcome, Outcome::storage);
  bad.end(Outcome::server_lost, "gone");
  EXPECT_EQ(bad.stop(at(1), "disk full", "", {}).text, "gone");
}

TEST(Shutdown, AWorkerFailureSaysHowToResume) {
  Shutdown shutdown, other;
  shutdown.end(Outcome::worker_failed, "why");
  EXPECT_EQ(shutdown.stop(at(1), "", "resume", {}).text, "why; resume");
  other.end(Outcome::interrupted, "why");
  EXPECT_EQ(other.stop(at(1), "", "resume", {}).text, "why");
}

TEST(Shutdown, StopIsRepeatedUntilAllHaveLeft) {
  Shutdown shutdown;
  shutdown.end(Outcome::finished, "");
  shutdown.stop(at(10), "", "", {ann, ben});
  EXPECT_THAT(shutdown.repeat_stop(at(10)), ElementsAre(ann, ben));
  shutdown.left(ann);
  EXPECT_THAT(shutdown.repeat_stop(at(11)), ElementsAre(ben));
  EXPECT_EQ(shutdown.phase(), Phase::stopping);
  shutdown.left(ben);
  EXPECT_THAT(shutdown.repeat_stop(at(11)), IsEmpty());
  EXPECT_EQ(shutdown.phase(), Phase::finished);
}

TEST(Shutdown, TheWaitForMembersIsLimited) {
  Shutdown shutdown;
  shutdown.end(Outcome::finished, "");
  shutdown.stop(at(10), "", "", {ann});
  EXPECT_THAT(shutdown.repeat_stop(at(12)), ElementsAre(ann));
  EXPECT_THAT(shutdown.repeat_stop(at(12.1)), IsEmpty());
  EXPECT_EQ(shutdown.phase(), Phase::finished);
}

constexpr NodeId left_shard{Role::shard, 3};

TEST(Shutdown, ShardsReceiveStopAfterTheWorkersHaveLeft) {
  Shutdown shutdown;
  shutdown.end(Outcome::finished, "");
  shutdown.stop(at(10), "", "", {ann, left_shard});
  EXPECT_THAT(shutdown.repeat_stop(at(10)), ElementsAre(ann));
  shutdown.left(ann);
  EXPECT_THAT(shutdown.repeat_stop(at(11)), ElementsAre(left_shard));
  shutdown.left(left_shard);
  EXPECT_THAT(shutdown.repeat_stop(at(11)), IsEmpty());
  EXPECT_EQ(shutdown.phase(), Phase::finished);
}

TEST(Shutdown, AShardThatSaidGoodbyeStillReceivesStop) {
  Shutdown shutdown;
  shutdown.end(Outcome::finished, "");
  shutdown.stop(at(10), "", "", {ann, left_shard});
  EXPECT_THAT(shutdown.repeat_stop(at(10)), ElementsAre(ann));
  shutdown.left(left_shard);  // it was interrupted, and waits for Stop
  shutdown.left(ann);
  EXPECT_THAT(shutdown.repeat_stop(at(10.5)), ElementsAre(left_shard));
}

TEST(Shutdown, OnlyWorkersThatStillPullExtendTheWait) {
  Shutdown shutdown;
  shutdown.end(Outcome::finished, "");
  shutdown.stop(at(10), "", "", {ann, left_shard});
  for (const double second : {11.5, 13.0, 14.5}) {
    shutdown.heard(at(second));
    EXPECT_THAT(shutdown.repeat_stop(at(second)), ElementsAre(ann));
  }
  EXPECT_THAT(shutdown.repeat_stop(at(16.6)), ElementsAre(left_shard)) << "the shard gets the whole timeout";
  EXPECT_THAT(shutdown.repeat_stop(at(18.5)), ElementsAre(left_shard));
  EXPECT_THAT(shutdown.repeat_stop(at(18.7)), IsEmpty());
}

TEST(Shutdown, LeftAloneRequiresTheWholeTimeout) {
  Shutdown shutdown;
  EXPECT_FALSE(shutdown.left_alone(at(1), false, from_seconds(2)));
  EXPECT_FALSE(shutdown.left_alone(at(2), true, from_seconds(2)));
  EXPECT_FALSE(shutdown.left_alone(at(3), false, from_seconds(2)));
  EXPECT_FALSE(shutdown.left_alone(at(5), false, from_seconds(2)));
  EXPECT_TRUE(shutdown.left_alone(at(5.1), false, from_seconds(2)));
}

TEST(Shutdown, TheFirstRequestCounts) {
  Shutdown shutdown;
  EXPECT_FALSE(shutdown.requested());
  EXPECT_TRUE(shutdown.request(Outcome::finished, "by ann"));
  EXPECT_FALSE(shutdown.request(Outcome::interrupted, "by a signal"));
  EXPECT_TRUE(shutdown.requested());
  EXPECT_EQ(shutdown.outcome().outcome, Outcome::finished);
  EXPECT_EQ(shutdown.outcome().text, "by ann");
}

}  // namespace
}  // namespace steelyard::shutdown_test
