// The host alone, with machines of a few lines: order, losses, pauses, computations.
#include "sim/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/talkers.h"

namespace steelyard::sim::world_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(World, WordsArriveInOrderAfterTheirTime) {
  Talk talk;
  Talker& heard = talk.start(server);
  talk.start(ann, {ping(1, 1), ping(1, 2), ping(4, 3)});
  talk.start(bob, {ping(2, 4)});
  talk.run();
  EXPECT_THAT(heard.heard, ElementsAre("11 ping 1 from worker-2", "11 ping 2 from worker-2",
                                       "12 ping 4 from worker-3", "14 ping 3 from worker-2"));
  EXPECT_EQ(talk.world.delivered(), 4U);
}

TEST(World, WhatTheDeadHadSaidArrivesAndThenTheNews) {
  Talk talk;
  Talker& heard = talk.start(server);
  const Talker& other = talk.start(bob);
  talk.start(ann, pings(9));
  talk.run_until(3);
  talk.world.kill(ann);
  EXPECT_EQ(talk.world.find(ann), nullptr);
  talk.run();
  EXPECT_THAT(heard.heard, ElementsAre("11 ping 1 from worker-2", "12 ping 2 from worker-2",
                                       "13 ping 3 from worker-2", "13 lost from worker-2"));
  EXPECT_THAT(other.heard, IsEmpty()) << "workers have no connections to each other";
}

TEST(World, SomeOfItMayBeLostWithItsSender) {
  std::set<std::size_t> arrived;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Talk talk({}, seed, 0.3);
    Talker& heard = talk.start(server);
    talk.start(ann, pings(5));
    talk.run_until(5);
    talk.world.kill(ann);
    talk.run();
    ASSERT_FALSE(heard.heard.empty());
    EXPECT_EQ(heard.heard.back(), "15 lost from worker-2");
    for (std::size_t i = 0; i + 1 < heard.heard.size(); ++i)
      EXPECT_THAT(heard.heard[i], testing::HasSubstr("ping " + std::to_string(i + 1))) << "the first ones";
    arrived.insert(heard.heard.size() - 1);
  }
  EXPECT_THAT(arrived, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(World, UnderTheNumberOfADeadNodeAnotherMayStart) {
  Talk talk;
  talk.start(server);
  talk.start(ann, {ping(1, 1), ping(8, 2)});
  talk.run_until(8);
  talk.world.kill(server);
  const Talker& fresh = talk.start(server, {pong(9, 5, ann)});
  Talker& told = const_cast<Talker&>(machine_of<Talker>(*talk.world.find(ann)));
  talk.run();
  EXPECT_THAT(fresh.heard, IsEmpty()) << "the pings were for the one before";
  EXPECT_THAT(told.heard, ElementsAre("18 lost from shard-1", "19 pong 5 from shard-1"));
}

TEST(World, ACutTakesWhatIsUnderWayAndTellsBothEnds) {
  Talk talk;
  Talker& heard = talk.start(server, {pong(1, 7, ann), pong(1, 8, bob)});
  Talker& told = talk.start(ann, {ping(1, 1), ping(6, 2)});
  talk.start(bob, {ping(1, 3), ping(2, 4)});
  talk.run_until(2);
  talk.world.cut(ann, server);
  talk.run();
  EXPECT_THAT(heard.heard, ElementsAre("11 ping 3 from worker-3", "12 ping 4 from worker-3",
                                       "12 lost from worker-2", "16 ping 2 from worker-2"));
  EXPECT_THAT(told.heard, ElementsAre("12 lost from shard-1"));
}

TEST(World, WhoIsPausedHearsAndDoesAllOfItLater) {
  Talk talk;
  Talker& heard = talk.start(server, {pong(14, 9, ann)});
  const Talker& told = talk.start(ann, {ping(1, 1), ping(3, 2), ping(20, 3)});
  talk.run_until(10);
  talk.world.pause(server, milliseconds(8));  // until 19, for the first thing after 10 was at 11
  talk.run();
  EXPECT_THAT(heard.heard,
              ElementsAre("11 ping 1 from worker-2", "19 ping 2 from worker-2", "30 ping 3 from worker-2"));
  EXPECT_THAT(told.heard, ElementsAre("29 pong 9 from shard-1")) << "its own timers wait too";
}

TEST(World, AHostTellsItsMachineAtOnce) {
  Talk talk;
  Talker& heard = talk.start(server);
  talk.world.tell(server, ToShard(Interrupt{}));
  talk.run();
  EXPECT_THAT(heard.heard, ElementsAre("0 interrupt"));
}

Talker::Line compute(double ms, Round round, std::uint64_t takes_ms) {
  Compute order;
  order.piece.round = round;
  order.piece.positions = {0, takes_ms};
  order.parameters = Blob::copy_of(std::vector<float>{0});
  return {at_ms(ms), [order](Outbox& out) { out.send<ToCompute>(compute_node, order); }};
}
Talker::Line abandon(double ms, Round before) {
  return {at_ms(ms), [before](Outbox& out) { out.send<ToCompute>(compute_node, Abandon{before}); }};
}

TEST(World, OrdersAreAnsweredUnlessTheyAreGivenUp) {
  Talk talk;
  const Talker& worker = talk.start(
      ann, {compute(1, 4, 20), compute(1, 5, 30), compute(1, 6, 40), abandon(10, 5), compute(11, 3, 5)});
  talk.run();
  EXPECT_THAT(worker.heard, ElementsAre("16 computed 3", "31 computed 5", "41 computed 6"));
}

TEST(World, AnAnnouncementIsNotComputed) {
  Talk talk;
  const Talker& worker =
      talk.start(ann, {{at_ms(1), [](Outbox& out) { out.send<ToCompute>(compute_node, Compute{}); }}});
  talk.run();
  EXPECT_THAT(worker.heard, IsEmpty());
}

// Keeps what it is told; loses one ping, and kills the server when another is about to arrive.
struct Watcher final : Observer {
  explicit Watcher(World& its_world) : world(its_world) {}
  bool arrives(const Envelope& envelope) override {
    if (of_host(envelope.message)) return true;
    const Term number = std::get<Ping>(std::get<ToShard>(envelope.message)).term;
    told.push_back("arrives " + std::to_string(number));
    if (number == 4) world.kill(server);
    return number != 2;
  }
  void stepped(const Hosted& node, const Envelope* in) override {
    told.push_back((in == nullptr ? "woken " : "stepped ") + to_string(node.id));
  }
  void killed(NodeId node) override { told.push_back("killed " + to_string(node)); }
  World& world;
  std::vector<std::string> told;
};

TEST(World, ObserversSeeAllAndMayInterfere) {
  Talk talk;
  Watcher first(talk.world), second(talk.world);
  talk.world.watch(first);
  talk.world.watch(second);
  talk.start(server);
  talk.start(ann, {ping(1, 1), ping(1, 2), ping(1, 3), ping(1, 4), ping(1, 5)});
  talk.run();
  EXPECT_THAT(first.told,
              ElementsAre("woken worker-2", "arrives 1", "stepped shard-1", "arrives 2", "arrives 3",
                          "stepped shard-1", "arrives 4", "killed shard-1", "stepped worker-2"));
  EXPECT_THAT(second.told, testing::Not(Contains("arrives 2"))) << "it is lost before";
  EXPECT_EQ(talk.world.delivered(), 3U);
}

}  // namespace
}  // namespace steelyard::sim::world_test
