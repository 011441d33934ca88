// The checkpointer when the roster changes: a mirror is in a lost shard's place.
#include "tests/server/checkpoint/checkpointer_case.h"

namespace steelyard::test::checkpointer_roster_test {
namespace {

using ::testing::IsEmpty;

using CheckpointerRosterTest = CheckpointerCase;

// It has the same version, and what the lost one has sent is not fetched again.
TEST_F(CheckpointerRosterTest, AMirrorInTheMiddleOfACheckpointGivesTheRest) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  tell(right, state(8, 1, 0, 5));
  const NodeId mirror{Role::shard, 12};
  Roster next = roster();
  next.shards[1].node = mirror;
  next.number = 1;
  tell(scheduler_node, next);
  const auto fetches = heard<ToShard, Fetch>();
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].first, mirror);
  tell(right, state(8, 1, 1, 15));
  EXPECT_THAT((heard<ToShard, Fetch>()), IsEmpty()) << "nobody listens to it any more";
  tell(link_node, Disconnected{left});
  wake(3);
  serve(5);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].parameters, std::vector<float>(10, 5.0F));
}

TEST_F(CheckpointerRosterTest, AnOlderRosterChangesNothing) {
  Roster late = roster();
  Roster next = roster();
  next.number = 2;
  next.shards[1].node = {Role::shard, 12};
  tell(scheduler_node, next);
  tell(scheduler_node, late);
  EXPECT_THAT((heard<ToShard, StateOffer>()), IsEmpty());
  wake(1);
  const auto beats = heard<ToScheduler, CheckpointerBeat>();
  ASSERT_EQ(beats.size(), 1U);
  EXPECT_EQ(beats[0].second.roster, 2U);
}

}  // namespace
}  // namespace steelyard::test::checkpointer_roster_test
