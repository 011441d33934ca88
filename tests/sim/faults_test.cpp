// Each fault has its documented effect on the messages that it selects, and the same effect under the same
// seed.
#include "sim/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/scripted_nodes.h"

namespace steelyard::sim::faults_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Effect = Fault::Effect;

struct Received {
  std::vector<std::string> by_server, by_ann, by_bob;
  friend bool operator==(const Received&, const Received&) = default;
};

// Ann sends pings 1 to 5, Bob 11 and 12; the server sends one pong to each of them.
Received received_under(std::vector<Fault> faults, std::uint64_t seed = 1) {
  ScriptedWorld nodes(std::move(faults), seed);
  const ScriptedNode& by_server = nodes.start(server, {pong(1, 21, ann), pong(3, 22, bob)});
  const ScriptedNode& by_ann = nodes.start(ann, pings(5));
  const ScriptedNode& by_bob = nodes.start(bob, {ping(1, 11), ping(4.2, 12)});
  nodes.run();
  const auto of = [&](NodeId id, const ScriptedNode& node) {
    return nodes.world.find(id) != nullptr ? node.received : std::vector<std::string>{"dead"};
  };
  return {of(server, by_server), of(ann, by_ann), of(bob, by_bob)};
}

std::vector<std::string> numbers(const std::vector<std::string>& received) {
  std::vector<std::string> all;
  for (const std::string& line : received) all.push_back(line.substr(0, line.find(" from")));
  return all;
}

TEST(Faults, WithoutFaultsAllMessagesArrive) {
  EXPECT_THAT(numbers(received_under({}).by_server),
              ElementsAre("11 ping 1", "11 ping 11", "12 ping 2", "13 ping 3", "14 ping 4", "14 ping 12",
                          "15 ping 5"));
}

TEST(Faults, ADelayedMessageDelaysLaterOnesOfItsPair) {
  const Received received = received_under({{.effect = Effect::delay,
                                             .from = ann,
                                             .first = 1,
                                             .count = 1,
                                             .least = milliseconds(7),
                                             .most = milliseconds(7)}});
  EXPECT_THAT(numbers(received.by_server), ElementsAre("11 ping 1", "11 ping 11", "14 ping 12", "19 ping 2",
                                                       "19 ping 3", "19 ping 4", "19 ping 5"));
}

TEST(Faults, DelaysAreDrawnFromTheSeed) {
  const std::vector<Fault> faults{
      {.effect = Effect::delay, .least = milliseconds(1), .most = milliseconds(50)}};
  EXPECT_EQ(received_under(faults, 3), received_under(faults, 3));
  EXPECT_NE(received_under(faults, 3), received_under(faults, 4));
}

TEST(Faults, HeldMessagesArriveAtTheEndOfTheWindow) {
  const Received received =
      received_under({{.effect = Effect::hold, .to = server, .begin = at_ms(2), .end = at_ms(4)}});
  EXPECT_THAT(numbers(received.by_server), ElementsAre("11 ping 1", "11 ping 11", "14 ping 2", "14 ping 3",
                                                       "14 ping 4", "14 ping 12", "15 ping 5"));
}

TEST(Faults, MessagesAreLostByTheirIndex) {
  const Received received = received_under({{.effect = Effect::lose, .from = ann, .first = 2, .count = 2}});
  EXPECT_THAT(numbers(received.by_server),
              ElementsAre("11 ping 1", "11 ping 11", "12 ping 2", "14 ping 12", "15 ping 5"));
  EXPECT_THAT(numbers(received.by_ann), ElementsAre("11 pong 21")) << "neither end notices the loss";
}

TEST(Faults, APartitionMayAffectOneDirection) {
  const Received received = received_under({{.effect = Effect::lose, .from = server, .to = Role::worker}});
  EXPECT_EQ(received.by_server.size(), 7U);
  EXPECT_THAT(received.by_ann, IsEmpty());
  EXPECT_THAT(received.by_bob, IsEmpty());
}

TEST(Faults, APartitionMayAffectOnePairForATime) {
  const Received received = received_under(
      {{.effect = Effect::lose, .from = ann, .to = server, .begin = at_ms(0), .end = at_ms(13.5)}});
  EXPECT_THAT(numbers(received.by_server), ElementsAre("11 ping 11", "14 ping 4", "14 ping 12", "15 ping 5"));
  EXPECT_EQ(received.by_ann.size(), 1U);
}

TEST(Faults, AFaultMayAffectOneKindOfMessage) {
  const Received received = received_under({{.effect = Effect::lose, .kind = says<ToWorker, Pong>}});
  EXPECT_EQ(received.by_server.size(), 7U);
  EXPECT_THAT(received.by_ann, IsEmpty());
}

TEST(Faults, ARepeatedMessageArrivesAgainLater) {
  const Received received = received_under({{.effect = Effect::repeat, .from = ann, .first = 1, .count = 1}});
  EXPECT_THAT(numbers(received.by_server), ElementsAre("11 ping 1", "11 ping 11", "12 ping 2", "13 ping 3",
                                                       "14 ping 4", "14 ping 12", "15 ping 5", "22 ping 2"));
}

TEST(Faults, ACutLosesTheMessageAndItsConnection) {
  const Received received = received_under({{.effect = Effect::cut, .from = ann, .first = 1, .count = 1}});
  EXPECT_THAT(numbers(received.by_server), ElementsAre("11 ping 1", "11 ping 11", "14 ping 12", "22 lost"));
  EXPECT_THAT(numbers(received.by_ann), ElementsAre("11 pong 21", "22 lost"));
  EXPECT_THAT(numbers(received.by_bob), ElementsAre("13 pong 22"));
}

TEST(Faults, APausedNodeContinuesAfterItsPause) {
  const Received received = received_under({{.effect = Effect::pause,
                                             .to = server,
                                             .count = 1,
                                             .least = milliseconds(3),
                                             .most = milliseconds(3)}});
  EXPECT_THAT(numbers(received.by_server), ElementsAre("11 ping 1", "14 ping 11", "14 ping 2", "14 ping 3",
                                                       "14 ping 4", "14 ping 12", "15 ping 5"));
}

TEST(Faults, AKillPrecedesTheMessage) {
  Received received = received_under({{.effect = Effect::kill, .to = server, .first = 3, .count = 1}});
  EXPECT_THAT(received.by_server, ElementsAre("dead"));
  EXPECT_THAT(numbers(received.by_ann), ElementsAre("11 pong 21", "23 lost"));
  received = received_under({{.effect = Effect::kill, .to = server, .first = 3, .count = 1, .node = bob}});
  EXPECT_THAT(received.by_bob, ElementsAre("dead"));
  EXPECT_THAT(numbers(received.by_server), testing::Contains("23 lost"));
}

TEST(Faults, ChanceIsDrawnFromTheSeed) {
  const std::vector<Fault> faults{{.effect = Effect::lose, .chance = 0.5}};
  std::size_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    EXPECT_EQ(received_under(faults, seed), received_under(faults, seed));
    lost += 7 - received_under(faults, seed).by_server.size();
  }
  EXPECT_NEAR(static_cast<double>(lost), 350, 50);
}

// Faults affect messages between nodes, not the notices that a host gives its own node.
TEST(Faults, FaultsDoNotDropDisconnectNotices) {
  ScriptedWorld nodes({{.effect = Effect::lose}});
  const ScriptedNode& received = nodes.start(server);
  nodes.start(ann, pings(2));
  nodes.run_until(2);
  nodes.world.kill(ann);
  nodes.run();
  EXPECT_THAT(numbers(received.received), ElementsAre("12 lost"));
}

}  // namespace
}  // namespace steelyard::sim::faults_test
