// A worker and a server that it cannot connect to.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_unreachable_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// It may be let in later, and the others go on meanwhile.
TEST_F(WorkerTest, AShardThatCannotBeConnectedToIsNamedAndWaitedFor) {
  join();
  tell(link_node, Unreachable{right, "tcp://b", "does not accept this key"});
  ASSERT_EQ(heard<WorkerBeat>().size(), 1U) << "at once";
  EXPECT_THAT(heard<WorkerBeat>()[0].unreached, ElementsAre(right));
  EXPECT_THAT(heard<Goodbye>(), IsEmpty());
  EXPECT_FALSE(worker.finished());
  tell(link_node, Unreachable{{Role::shard, 99}, "tcp://c", "nonsense"});
  wake(1);
  EXPECT_THAT(heard<WorkerBeat>()[0].unreached, ElementsAre(right)) << "none of its shards";
  EXPECT_THAT(heard<Ping>(), ::testing::SizeIs(1)) << "asked again";
  tell(right, Pong{term});
  wake(1);
  EXPECT_THAT(heard<WorkerBeat>()[0].unreached, IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::worker_unreachable_test
