// A member follows one scheduler at a time.
#include "transport/leader.h"

#include <gtest/gtest.h>

namespace steelyard::leader_test {
namespace {

TEST(Leader, TheFirstToAnswerIsFollowed) {
  Leader leader;
  EXPECT_FALSE(leader.place()) << "messages go to all places";
  EXPECT_TRUE(leader.believes(1, std::nullopt));
  EXPECT_EQ(leader.place(), 1U);
  EXPECT_FALSE(leader.believes(0, std::nullopt));
  EXPECT_FALSE(leader.believes(0, 0));
  EXPECT_TRUE(leader.believes(1, 0));
}

TEST(Leader, AHigherGenerationLeads) {
  Leader leader;
  EXPECT_TRUE(leader.believes(0, 0));
  EXPECT_TRUE(leader.believes(1, 1));
  EXPECT_EQ(leader.place(), 1U);
  EXPECT_FALSE(leader.believes(0, 0)) << "the former leader is back";
  EXPECT_FALSE(leader.believes(0, std::nullopt));
  EXPECT_TRUE(leader.believes(1, std::nullopt));
}

TEST(Leader, WhileDisconnectedAllPlacesAreTried) {
  Leader leader;
  EXPECT_TRUE(leader.believes(0, 2));
  EXPECT_FALSE(leader.disconnected(1)) << "the connection of the other scheduler";
  EXPECT_EQ(leader.place(), 0U);
  EXPECT_TRUE(leader.disconnected(0));
  EXPECT_FALSE(leader.place());
  EXPECT_FALSE(leader.believes(1, std::nullopt)) << "without a generation it may not lead";
  EXPECT_FALSE(leader.believes(1, 1)) << "a former leader";
  EXPECT_TRUE(leader.believes(0, std::nullopt)) << "the connection is back";
  EXPECT_EQ(leader.place(), 0U);
}

TEST(Leader, AStandbyTakesOverWhileTheConnectionIsGone) {
  Leader leader;
  EXPECT_TRUE(leader.believes(0, 2));
  EXPECT_TRUE(leader.disconnected(0));
  EXPECT_TRUE(leader.believes(1, 3));
  EXPECT_FALSE(leader.believes(0, 2));
  EXPECT_FALSE(leader.disconnected(0)) << "the connection of a former leader does not matter";
  EXPECT_EQ(leader.place(), 1U);
}

// A former leader may be back at the same place.
TEST(Leader, ALowerGenerationAtTheSamePlaceIsIgnored) {
  Leader leader;
  EXPECT_TRUE(leader.believes(0, 2));
  EXPECT_TRUE(leader.disconnected(0));
  EXPECT_FALSE(leader.believes(0, 1));
}

}  // namespace
}  // namespace steelyard::leader_test
