// World, the host, with small scripted state machines: order, losses, pauses, computations.
#include "sim/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/scripted_nodes.h"

namespace steelyard::sim::world_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(World, MessagesArriveInOrderAfterTheirLatency) {
  ScriptedWorld nodes;
  ScriptedNode& at_server = nodes.start(server);
  nodes.start(ann, {ping(1, 1), ping(1, 2), ping(4, 3)});
  nodes.start(bob, {ping(2, 4)});
  nodes.run();
  EXPECT_THAT(at_server.received, ElementsAre("11 ping 1 from worker-2", "11 ping 2 from worker-2",
                                              "12 ping 4 from worker-3", "14 ping 3 from worker-2"));
  EXPECT_EQ(nodes.world.delivered(), 4U);
}

TEST(World, MessagesOfADeadNodeArriveBeforeTheNotice) {
  ScriptedWorld nodes;
  ScriptedNode& at_server = nodes.start(server);
  const ScriptedNode& other = nodes.start(bob);
  nodes.start(ann, pings(9));
  nodes.run_until(3);
  nodes.world.kill(ann);
  EXPECT_EQ(nodes.world.find(ann), nullptr);
  nodes.run();
  EXPECT_THAT(at_server.received, ElementsAre("11 ping 1 from worker-2", "12 ping 2 from worker-2",
                                              "13 ping 3 from worker-2", "13 lost from worker-2"));
  EXPECT_THAT(other.received, IsEmpty()) << "workers have no connections to each other";
}

TEST(World, TheLastMessagesMayBeLostWithTheirSender) {
  std::set<std::size_t> arrived;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    ScriptedWorld nodes({}, seed, 0.3);
    ScriptedNode& at_server = nodes.start(server);
    nodes.start(ann, pings(5));
    nodes.run_until(5);
    nodes.world.kill(ann);
    nodes.run();
    ASSERT_FALSE(at_server.received.empty());
    EXPECT_EQ(at_server.received.back(), "15 lost from worker-2");
    for (std::size_t i = 0; i + 1 < at_server.received.size(); ++i)
      EXPECT_THAT(at_server.received[i], testing::HasSubstr("ping " + std::to_string(i + 1)))
          << "the messages that arrive are the first ones";
    arrived.insert(at_server.received.size() - 1);
  }
  EXPECT_THAT(arrived, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(World, ANodeMayReplaceADeadOneOfTheSameNumber) {
  ScriptedWorld nodes;
  nodes.start(server);
  nodes.start(ann, {ping(1, 1), ping(8, 2)});
  nodes.run_until(8);
  nodes.world.kill(server);
  const ScriptedNode& fresh = nodes.start(server, {pong(9, 5, ann)});
  ScriptedNode& at_worker = const_cast<ScriptedNode&>(machine_of<ScriptedNode>(*nodes.world.find(ann)));
  nodes.run();
  EXPECT_THAT(fresh.received, IsEmpty()) << "the pings were sent to the dead node";
  EXPECT_THAT(at_worker.received, ElementsAre("18 lost from shard-1", "19 pong 5 from shard-1"));
}

TEST(World, ACutDropsMessagesAndNotifiesBothEnds) {
  ScriptedWorld nodes;
  ScriptedNode& at_server = nodes.start(server, {pong(1, 7, ann), pong(1, 8, bob)});
  ScriptedNode& at_worker = nodes.start(ann, {ping(1, 1), ping(6, 2)});
  nodes.start(bob, {ping(1, 3), ping(2, 4)});
  nodes.run_until(2);
  nodes.world.cut(ann, server);
  nodes.run();
  EXPECT_THAT(at_server.received, ElementsAre("11 ping 3 from worker-3", "12 ping 4 from worker-3",
                                              "12 lost from worker-2", "16 ping 2 from worker-2"));
  EXPECT_THAT(at_worker.received, ElementsAre("12 lost from shard-1"));
}

TEST(World, APausedNodeHandlesEverythingLater) {
  ScriptedWorld nodes;
  ScriptedNode& at_server = nodes.start(server, {pong(14, 9, ann)});
  const ScriptedNode& at_worker = nodes.start(ann, {ping(1, 1), ping(3, 2), ping(20, 3)});
  nodes.run_until(10);
  nodes.world.pause(server, milliseconds(8));  // until 19: the first event after 10 is at 11
  nodes.run();
  EXPECT_THAT(at_server.received,
              ElementsAre("11 ping 1 from worker-2", "19 ping 2 from worker-2", "30 ping 3 from worker-2"));
  EXPECT_THAT(at_worker.received, ElementsAre("29 pong 9 from shard-1")) << "its own timers wait too";
}

TEST(World, ABusyNodeHandlesMessagesInOrder) {
  ScriptedWorld nodes;
  nodes.before_ms = 4;
  const ScriptedNode& at_server = nodes.start(server);
  nodes.start(ann, {ping(1, 1), ping(3, 2), ping(30, 3)});
  nodes.start(bob, {ping(2, 4)});
  nodes.run();
  EXPECT_THAT(at_server.received, ElementsAre("15 ping 1 from worker-2", "19 ping 4 from worker-3",
                                              "23 ping 2 from worker-2", "44 ping 3 from worker-2"));
}

TEST(World, APauseOfABusyNodeKeepsTheOrder) {
  ScriptedWorld nodes;
  nodes.before_ms = 4;
  const ScriptedNode& at_server = nodes.start(server);
  nodes.start(ann, {ping(1, 1), ping(2, 2)});
  nodes.run_until(12);
  nodes.world.pause(server, milliseconds(8));
  nodes.run();
  EXPECT_THAT(at_server.received, ElementsAre("20 ping 1 from worker-2", "24 ping 2 from worker-2"));
}

TEST(World, AnswersLeaveWhenTheNodeHasFinished) {
  ScriptedWorld nodes;
  nodes.after_ms = 5;
  const ScriptedNode& at_server = nodes.start(server, {pong(14, 9, ann)});
  const ScriptedNode& at_worker = nodes.start(ann, {ping(6, 1)});
  nodes.run();
  EXPECT_THAT(at_worker.received, ElementsAre("29 pong 9 from shard-1"));
  EXPECT_THAT(at_server.received, ElementsAre("19 ping 1 from worker-2"));
}

TEST(World, AHostNotifiesItsNodeImmediately) {
  ScriptedWorld nodes;
  ScriptedNode& at_server = nodes.start(server);
  nodes.world.tell(server, ToShard(Interrupt{}));
  nodes.run();
  EXPECT_THAT(at_server.received, ElementsAre("0 interrupt"));
}

ScriptedNode::Action compute(double ms, Round round, std::uint64_t takes_ms) {
  Compute order;
  order.piece.round = round;
  order.piece.positions = {0, takes_ms};
  order.parameters = Blob::copy_of(std::vector<float>{0});
  return {at_ms(ms), [order](Outbox& out) { out.send<ToCompute>(compute_node, order); }};
}
ScriptedNode::Action abandon(double ms, Round before) {
  return {at_ms(ms), [before](Outbox& out) { out.send<ToCompute>(compute_node, Abandon{before}); }};
}

TEST(World, ComputesAreAnsweredUnlessAbandoned) {
  ScriptedWorld nodes;
  const ScriptedNode& worker = nodes.start(
      ann, {compute(1, 4, 20), compute(1, 5, 30), compute(1, 6, 40), abandon(10, 5), compute(11, 3, 5)});
  nodes.run();
  EXPECT_THAT(worker.received, ElementsAre("16 computed 3", "31 computed 5", "41 computed 6"));
}

TEST(World, AnAnnouncementIsNotComputed) {
  ScriptedWorld nodes;
  const ScriptedNode& worker =
      nodes.start(ann, {{at_ms(1), [](Outbox& out) { out.send<ToCompute>(compute_node, Compute{}); }}});
  nodes.run();
  EXPECT_THAT(worker.received, IsEmpty());
}

// Records its calls, drops ping 2, and kills the server just before ping 4 arrives.
struct Watcher final : Observer {
  explicit Watcher(World& its_world) : world(its_world) {}
  bool arrives(const Envelope& envelope) override {
    if (of_host(envelope.message)) return true;
    const Term number = std::get<Ping>(std::get<ToShard>(envelope.message)).term;
    calls.push_back("arrives " + std::to_string(number));
    if (number == 4) world.kill(server);
    return number != 2;
  }
  void stepped(const Hosted& node, const Envelope* in) override {
    calls.push_back((in == nullptr ? "woken " : "stepped ") + to_string(node.id));
  }
  void killed(NodeId node) override { calls.push_back("killed " + to_string(node)); }
  World& world;
  std::vector<std::string> calls;
};

TEST(World, ObserversSeeEveryStepAndMayDropMessages) {
  ScriptedWorld nodes;
  Watcher first(nodes.world), second(nodes.world);
  nodes.world.watch(first);
  nodes.world.watch(second);
  nodes.start(server);
  nodes.start(ann, {ping(1, 1), ping(1, 2), ping(1, 3), ping(1, 4), ping(1, 5)});
  nodes.run();
  EXPECT_THAT(first.calls,
              ElementsAre("woken worker-2", "arrives 1", "stepped shard-1", "arrives 2", "arrives 3",
                          "stepped shard-1", "arrives 4", "killed shard-1", "stepped worker-2"));
  EXPECT_THAT(second.calls, testing::Not(Contains("arrives 2"))) << "the first observer dropped it";
  EXPECT_EQ(nodes.world.delivered(), 3U);
}

}  // namespace
}  // namespace steelyard::sim::world_test
