// A worker and a server that it cannot connect to.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_unreachable_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The worker may be let in later, and other workers continue meanwhile.
TEST_F(WorkerTest, AnUnreachableShardIsReportedAndWaitedFor) {
  join();
  deliver(link_node, Unreachable{right, "tcp://b", "does not accept this key"});
  ASSERT_EQ(sent_of<WorkerBeat>().size(), 1U) << "at once";
  EXPECT_THAT(sent_of<WorkerBeat>()[0].unreached, ElementsAre(right));
  EXPECT_THAT(sent_of<Goodbye>(), IsEmpty());
  EXPECT_FALSE(worker.finished());
  deliver(link_node, Unreachable{{Role::shard, 99}, "tcp://c", "nonsense"});
  wake(1);
  EXPECT_THAT(sent_of<WorkerBeat>()[0].unreached, ElementsAre(right)) << "not one of its shards";
  EXPECT_THAT(sent_of<Ping>(), ::testing::SizeIs(1)) << "pinged again";
  deliver(right, Pong{term});
  wake(1);
  EXPECT_THAT(sent_of<WorkerBeat>()[0].unreached, IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::worker_unreachable_test
