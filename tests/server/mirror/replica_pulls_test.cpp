// Pulls of its primary's workers, as a promoted mirror keeps them.
#include <gtest/gtest.h>

#include "server/mirror/replica.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::test::replica_pulls_test {
namespace {

constexpr NodeId mirror_node{Role::shard, 7};

class Promoted : public ::testing::Test {
 protected:
  Promoted() {
    step(scheduler_node, Welcome{ShardCase::term, 0, primary.job});
    step(scheduler_node, MirrorOf{ShardCase::term, 1, shard_node});
    primary.load();
    deliver(scheduler_node, Mirror{ShardCase::term, 1, false, mirror_node, "ipc://mirror"});
    for (const std::uint64_t worker : {1, 2, 3}) deliver(worker_node(worker), Pull{ShardCase::term, 1});
  }
  // Delivers a message to the primary, then forwards it to the mirror and returns its acknowledgements.
  void deliver(NodeId from, auto message) {
    std::vector<Envelope> output = primary.deliver(from, std::move(message));
    while (!output.empty()) {
      std::vector<ReplicateAck> acks;
      for (Envelope& it : output) {
        if (it.to != mirror_node) continue;
        for (const Envelope& ack : step(shard_node, std::get<ToShard>(it.message)))
          acks.push_back(std::get<ReplicateAck>(std::get<ToShard>(ack.message)));
      }
      output.clear();
      for (const ReplicateAck& ack : acks) {
        const auto& more = primary.deliver(mirror_node, ack);
        output.insert(output.end(), more.begin(), more.end());
      }
    }
  }
  std::vector<Envelope> step(NodeId from, ToShard message) {
    Outbox out(mirror_node);
    mirror.step(primary.now, {from, mirror_node, Message(std::move(message))}, out);
    return out.take();
  }
  void wake(double later) {
    primary.wake(later);
    step(scheduler_node, SchedulerBeat{ShardCase::term});
    Outbox out(mirror_node);
    mirror.wake(primary.now, out);
  }

  ShardCase primary{shard_job()};
  Replica mirror{{mirror_node, {0, "m", "", DeviceKind::cpu, 0}, {}}};
};

// Workers lost together with the primary's machine: the mirror never sees them disconnect.
TEST_F(Promoted, PullsOfWorkersThatDoNotConnectAreDropped) {
  wake(0);
  step(worker_node(3), Ping{ShardCase::term});
  step(scheduler_node, Promote{ShardCase::term});
  ASSERT_EQ(mirror.shard().pulling().size(), 3U);
  step(worker_node(1), Ping{ShardCase::term});
  wake(9);
  EXPECT_EQ(mirror.shard().pulling().size(), 3U) << "workers have ten seconds to connect";
  step(worker_node(3), Ping{ShardCase::term});
  wake(2);
  EXPECT_EQ(mirror.shard().pulling(), (std::set{worker_node(1), worker_node(3)}));
  wake(100);
  EXPECT_EQ(mirror.shard().pulling().size(), 2U)
      << "a worker that has connected may be silent while it computes";
}

}  // namespace
}  // namespace steelyard::test::replica_pulls_test
