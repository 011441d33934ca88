// The worker when the roster changes: a mirror is in a lost shard's place.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_roster_test {
namespace {

using ::testing::ElementsAre;

TEST_F(WorkerTest, AMirrorInAShardsPlaceIsToldWhatThatMayNotHaveShown) {
  join();
  tell(scheduler_node, start(4, 1, {0, 8}));
  arrive_all(4);
  final(4, 1, 2);
  final(4, 1, 0);
  computed(4, 1, {0, 8});  // pulls the next version
  const NodeId mirror{Role::shard, 12};
  Roster next = roster();
  next.shards[1] = {mirror, "tcp://c", 1, 3};
  next.number = 2;
  tell(scheduler_node, next);
  ASSERT_EQ(heard<Push>().size(), 1U);
  EXPECT_EQ(heard<Push>()[0].slice, 2U);
  EXPECT_EQ(heard<Pull>().size(), 1U);
  EXPECT_EQ(heard<Disconnect>().size(), 1U);
  EXPECT_THAT(receivers(), ElementsAre(left, mirror, mirror, mirror)) << "pings, a push, a pull";
}

}  // namespace
}  // namespace steelyard::test::worker_roster_test
