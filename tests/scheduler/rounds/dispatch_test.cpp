// Which messages are sent, and their receivers.
#include "scheduler/rounds/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/toy_job.h"

namespace steelyard::dispatch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr NodeId worker{Role::worker, 1}, left{Role::shard, 1}, right{Role::shard, 2},
    checkpointer{Role::checkpointer, 1};

class DispatchTest : public ::testing::Test {
 protected:
  DispatchTest() {
    WorkerMember ann;
    ann.node = worker;
    members.add(ann);
    add_shard(0, left);
  }
  void add_shard(std::uint32_t slot, NodeId node) {
    ShardMember shard;
    shard.node = node;
    members.shards.emplace(slot, shard);
  }
  // The receivers of the messages sent.
  std::vector<NodeId> receivers() {
    std::vector<NodeId> nodes;
    for (const Envelope& envelope : out.take()) nodes.push_back(envelope.to);
    return nodes;
  }

  Job job = test::toy_job(80, 40, 1, 1, 2);  // of two shards
  Members members;
  std::list<RoundState> rounds;
  Admission admission{job, members, rounds};
  Dispatch dispatch{job, 1, members, admission};
  Outbox out{scheduler_node};
};

TEST_F(DispatchTest, ARosterIsSentOnceAllShardsHaveJoined) {
  dispatch.roster_to_all(out);
  EXPECT_THAT(receivers(), IsEmpty());
  add_shard(1, right);
  dispatch.roster_to_all(out);
  EXPECT_THAT(receivers(), ElementsAre(worker));
  members.checkpointer = checkpointer;
  dispatch.roster_to_all(out);
  EXPECT_THAT(receivers(), ElementsAre(worker, checkpointer));
}

TEST_F(DispatchTest, BeginRoundGoesToAllShardsAndItsTimeIsKept) {
  add_shard(1, right);
  dispatch.open(Time{} + from_seconds(3), BeginRound{}, out);
  EXPECT_THAT(receivers(), ElementsAre(left, right));
  EXPECT_EQ(members.shards.at(1).opens_sent, Time{} + from_seconds(3));
}

TEST_F(DispatchTest, OrdersGoToTheWorkerInTheSlot) {
  dispatch.to_worker(0, Start{}, out);
  dispatch.to_worker(0, Resend{}, out);
  EXPECT_THAT(receivers(), ElementsAre(worker, worker));
}

TEST_F(DispatchTest, MessagesToAMissingCheckpointerAreNotSent) {
  dispatch.save({}, out);
  dispatch.roster_to_checkpointer(out);
  EXPECT_THAT(receivers(), IsEmpty());
  members.checkpointer = checkpointer;
  dispatch.save({}, out);
  EXPECT_THAT(receivers(), ElementsAre(checkpointer));
}

TEST_F(DispatchTest, ARefusalGoesToTheRefusedNode) {
  Dispatch::to_member(left, Refuse{Refusal::full, "why"}, out);
  EXPECT_THAT(receivers(), ElementsAre(left));
}

TEST_F(DispatchTest, EndGoesToCheckpointerAndRecorderStopToMembers) {
  members.checkpointer = checkpointer;
  dispatch.end({}, out);
  EXPECT_THAT(receivers(), ElementsAre(checkpointer, recorder_node));
  Dispatch::stop({worker, left}, {}, out);
  EXPECT_THAT(receivers(), ElementsAre(left, worker));
}

}  // namespace
}  // namespace steelyard::dispatch_test
