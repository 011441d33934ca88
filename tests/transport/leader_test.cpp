// A member follows one scheduler at a time.
#include "transport/leader.h"

#include <gtest/gtest.h>

namespace steelyard::leader_test {
namespace {

constexpr Time now{std::chrono::seconds(1)};

TEST(Leader, TheFirstToAnswerIsFollowed) {
  Leader leader;
  EXPECT_FALSE(leader.place(now)) << "messages go to all places";
  EXPECT_TRUE(leader.believes(now, 1, std::nullopt));
  EXPECT_EQ(leader.place(now), 1U);
  EXPECT_FALSE(leader.believes(now, 0, std::nullopt));
  EXPECT_FALSE(leader.believes(now, 0, 0));
  EXPECT_TRUE(leader.believes(now, 1, 0));
}

TEST(Leader, AHigherGenerationLeads) {
  Leader leader;
  EXPECT_TRUE(leader.believes(now, 0, 0));
  EXPECT_TRUE(leader.believes(now, 1, 1));
  EXPECT_EQ(leader.place(now), 1U);
  EXPECT_FALSE(leader.believes(now, 0, 0)) << "the former leader is back";
  EXPECT_FALSE(leader.believes(now, 0, std::nullopt));
  EXPECT_TRUE(leader.believes(now, 1, std::nullopt));
}

TEST(Leader, WhileDisconnectedAllPlacesAreTried) {
  Leader leader;
  EXPECT_TRUE(leader.believes(now, 0, 2));
  EXPECT_FALSE(leader.disconnected(1)) << "the connection of the other scheduler";
  EXPECT_EQ(leader.place(now), 0U);
  EXPECT_TRUE(leader.disconnected(0));
  EXPECT_FALSE(leader.place(now));
  EXPECT_FALSE(leader.believes(now, 1, std::nullopt)) << "without a generation it may not lead";
  EXPECT_FALSE(leader.believes(now, 1, 1)) << "a former leader";
  EXPECT_TRUE(leader.believes(now, 0, std::nullopt)) << "the connection is back";
  EXPECT_EQ(leader.place(now), 0U);
}

TEST(Leader, AStandbyTakesOverWhileTheConnectionIsGone) {
  Leader leader;
  EXPECT_TRUE(leader.believes(now, 0, 2));
  EXPECT_TRUE(leader.disconnected(0));
  EXPECT_TRUE(leader.believes(now, 1, 3));
  EXPECT_FALSE(leader.believes(now, 0, 2));
  EXPECT_FALSE(leader.disconnected(0)) << "the connection of a former leader does not matter";
  EXPECT_EQ(leader.place(now), 1U);
}

// A former leader may be back at the same place.
TEST(Leader, ALowerGenerationAtTheSamePlaceIsIgnored) {
  Leader leader;
  EXPECT_TRUE(leader.believes(now, 0, 2));
  EXPECT_TRUE(leader.disconnected(0));
  EXPECT_FALSE(leader.believes(now, 0, 1));
}

// The connection of a process that was stopped and continued may have lasted.
TEST(Leader, ASilentLeaderIsNotTheOnlyPlace) {
  Leader leader;
  EXPECT_TRUE(leader.believes(now, 0, 2));
  const Time later = now + Leader::patience + std::chrono::milliseconds(1);
  EXPECT_EQ(leader.place(now + Leader::patience), 0U);
  EXPECT_FALSE(leader.place(later)) << "messages go to all places";
  EXPECT_FALSE(leader.believes(later, 1, 2)) << "it is not lost";
  EXPECT_TRUE(leader.believes(later, 0, std::nullopt));
  EXPECT_EQ(leader.place(later), 0U);
  EXPECT_TRUE(leader.believes(later, 1, 3));
  EXPECT_EQ(leader.place(later), 1U);
}

TEST(Leader, TheGenerationIsThatOfAHeartbeat) {
  Leader leader;
  const auto beat = [](std::uint64_t generation) { return Message(ToWorker(SchedulerBeat{1, generation})); };
  EXPECT_TRUE(leader.believes(now, 0, beat(0)));
  EXPECT_FALSE(leader.believes(now, 1, Message(ToWorker(Pong{}))));
  EXPECT_TRUE(leader.believes(now, 1, beat(1)));
  EXPECT_FALSE(leader.believes(now, 0, beat(0)));
  EXPECT_TRUE(leader.believes(now, 0, Message(ToShard(LeaderClaim{})))) << "a shard answers a former leader";
  EXPECT_EQ(leader.place(now), 1U) << "and continues to follow the other";
}

}  // namespace
}  // namespace steelyard::leader_test
