// The worker when the roster changes: a mirror takes a lost shard's place.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_roster_test {
namespace {

using ::testing::ElementsAre;

TEST_F(WorkerTest, AMirrorThatReplacesAShardGetsUnacknowledgedPushes) {
  join();
  deliver(scheduler_node, start(4, 1, {0, 8}));
  arrive_all(4);
  final(4, 1, 2);
  final(4, 1, 0);
  computed(4, 1, {0, 8});  // pulls the next version
  const NodeId mirror{Role::shard, 12};
  Roster next = roster();
  next.shards[1] = {mirror, "tcp://c", 1, 3};
  next.number = 2;
  deliver(scheduler_node, next);
  ASSERT_EQ(sent_of<Push>().size(), 1U);
  EXPECT_EQ(sent_of<Push>()[0].slice, 2U);
  EXPECT_EQ(sent_of<Pull>().size(), 1U);
  EXPECT_EQ(sent_of<Disconnect>().size(), 1U);
  EXPECT_THAT(receivers(), ElementsAre(left, mirror, mirror, mirror)) << "pings, a push, a pull";
}

}  // namespace
}  // namespace steelyard::test::worker_roster_test
