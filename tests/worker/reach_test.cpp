#include "worker/contact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::reach_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr NodeId left{Role::shard, 1}, right{Role::shard, 2};

TEST(Reach, IsReadyOnceEveryShardHasAnswered) {
  Reach reach;
  EXPECT_TRUE(reach.adopt({{{left, "a", 0, 1}, {right, "b", 1, 2}}, 1}));
  EXPECT_FALSE(reach.answered(right));
  EXPECT_FALSE(reach.answered(right)) << "a repeated answer counts once";
  EXPECT_THAT(reach.awaited(), ElementsAre(left));
  EXPECT_FALSE(reach.ready());
  EXPECT_TRUE(reach.answered(left));
  EXPECT_TRUE(reach.ready());
  EXPECT_THAT(reach.awaited(), IsEmpty());
}

TEST(Reach, ADoubtedShardIsAwaitedAndTheWorkerStaysReady) {
  Reach reach;
  reach.adopt({{{left, "a", 0, 1}}, 1});
  reach.answered(left);
  reach.doubt(left);
  reach.doubt(left);
  EXPECT_THAT(reach.awaited(), ElementsAre(left));
  EXPECT_TRUE(reach.ready());
  EXPECT_FALSE(reach.answered(left)) << "it was ready before";
  EXPECT_THAT(reach.awaited(), IsEmpty());
}

TEST(Reach, OnlyANewRosterIsAwaitedAgain) {
  Reach reach;
  reach.adopt({{{left, "a", 0, 1}}, 1});
  reach.answered(left);
  EXPECT_FALSE(reach.adopt({{{left, "a", 0, 1}}, 1}));
  EXPECT_TRUE(reach.ready());
  EXPECT_TRUE(reach.adopt({{{right, "b", 0, 1}}, 2}));
  EXPECT_EQ(reach.roster(), 2U);
  EXPECT_FALSE(reach.ready());
  EXPECT_THAT(reach.awaited(), ElementsAre(right));
}

}  // namespace
}  // namespace steelyard::reach_test
