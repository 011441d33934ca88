// The checkpointer when the roster changes because a mirror replaces a lost shard.
#include "tests/server/checkpoint/checkpointer_case.h"

namespace steelyard::test::checkpointer_roster_test {
namespace {

using ::testing::IsEmpty;

using CheckpointerRosterTest = CheckpointerCase;

// The mirror has the same version; parts that the lost shard has sent are not fetched again.
TEST_F(CheckpointerRosterTest, AMirrorSendsTheRestOfACheckpoint) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  deliver(right, state(8, 1, 0, 5));
  const NodeId mirror{Role::shard, 12};
  Roster next = roster();
  next.shards[1].node = mirror;
  next.number = 1;
  deliver(scheduler_node, next);
  const auto fetches = sent<ToShard, Fetch>();
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].first, mirror);
  deliver(right, state(8, 1, 1, 15));
  EXPECT_THAT((sent<ToShard, Fetch>()), IsEmpty()) << "the lost shard's messages must be ignored";
  deliver(link_node, Disconnected{left});
  wake(3);
  serve(5);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].parameters, std::vector<float>(10, 5.0F));
}

TEST_F(CheckpointerRosterTest, AnOlderRosterIsIgnored) {
  Roster late = roster();
  Roster next = roster();
  next.number = 2;
  next.shards[1].node = {Role::shard, 12};
  deliver(scheduler_node, next);
  deliver(scheduler_node, late);
  EXPECT_THAT((sent<ToShard, StateOffer>()), IsEmpty());
  wake(1);
  const auto beats = sent<ToScheduler, CheckpointerBeat>();
  ASSERT_EQ(beats.size(), 1U);
  EXPECT_EQ(beats[0].second.roster, 2U);
}

}  // namespace
}  // namespace steelyard::test::checkpointer_roster_test
