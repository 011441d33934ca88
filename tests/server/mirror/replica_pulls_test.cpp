// What a mirror that is promoted keeps of the workers that its primary knew.
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
    tell(scheduler_node, Mirror{ShardCase::term, 1, false, mirror_node, "ipc://mirror"});
    for (const std::uint64_t worker : {1, 2, 3}) tell(worker_node(worker), Pull{ShardCase::term, 1});
  }
  // What the primary is told it forwards, and hears that it has arrived.
  void tell(NodeId from, auto message) {
    std::vector<Envelope> said = primary.tell(from, std::move(message));
    while (!said.empty()) {
      std::vector<ReplicateAck> acks;
      for (Envelope& it : said) {
        if (it.to != mirror_node) continue;
        for (const Envelope& ack : step(shard_node, std::get<ToShard>(it.message)))
          acks.push_back(std::get<ReplicateAck>(std::get<ToShard>(ack.message)));
      }
      said.clear();
      for (const ReplicateAck& ack : acks) {
        const auto& more = primary.tell(mirror_node, ack);
        said.insert(said.end(), more.begin(), more.end());
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

// Some have died with the primary, on the same machine: no connection of theirs will ever end here.
TEST_F(Promoted, NothingIsKeptOfWorkersThatDoNotCome) {
  wake(0);
  step(worker_node(3), Ping{ShardCase::term});
  step(scheduler_node, Promote{ShardCase::term});
  ASSERT_EQ(mirror.shard().pulling().size(), 3U);
  step(worker_node(1), Ping{ShardCase::term});
  wake(9);
  EXPECT_EQ(mirror.shard().pulling().size(), 3U) << "some take a while";
  step(worker_node(3), Ping{ShardCase::term});
  wake(2);
  EXPECT_EQ(mirror.shard().pulling(), (std::set{worker_node(1), worker_node(3)}));
  wake(100);
  EXPECT_EQ(mirror.shard().pulling().size(), 2U) << "who has come may be silent, as it computes";
}

}  // namespace
}  // namespace steelyard::test::replica_pulls_test
