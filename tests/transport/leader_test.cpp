// A member believes one scheduler at a time.
#include "transport/leader.h"

#include <gtest/gtest.h>

namespace steelyard::leader_test {
namespace {

TEST(Leader, TheFirstThatAnswersIsBelieved) {
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

TEST(Leader, WhileItsConnectionIsGoneAllPlacesAreAsked) {
  Leader leader;
  EXPECT_TRUE(leader.believes(0, 2));
  EXPECT_FALSE(leader.disconnected(1)) << "of the other";
  EXPECT_EQ(leader.place(), 0U);
  EXPECT_TRUE(leader.disconnected(0));
  EXPECT_FALSE(leader.place());
  EXPECT_FALSE(leader.believes(1, std::nullopt)) << "whether it leads is not known";
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
  EXPECT_FALSE(leader.disconnected(0)) << "what is not believed may end";
  EXPECT_EQ(leader.place(), 1U);
}

// Its own place may have a former leader by now.
TEST(Leader, TheSamePlaceWithALowerGenerationIsNotBelieved) {
  Leader leader;
  EXPECT_TRUE(leader.believes(0, 2));
  EXPECT_TRUE(leader.disconnected(0));
  EXPECT_FALSE(leader.believes(0, 1));
}

}  // namespace
}  // namespace steelyard::leader_test
