// Each fault does what it says, to the messages that it names, and the same again under the same seed.
#include "sim/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/talkers.h"

namespace steelyard::sim::faults_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Effect = Fault::Effect;

struct Heard {
  std::vector<std::string> by_server, by_ann, by_bob;
  friend bool operator==(const Heard&, const Heard&) = default;
};

// Ann pings from 1 to 5, Bob 11 and 12; the server has a word for each of them.
Heard heard_under(std::vector<Fault> faults, std::uint64_t seed = 1) {
  Talk talk(std::move(faults), seed);
  const Talker& by_server = talk.start(server, {pong(1, 21, ann), pong(3, 22, bob)});
  const Talker& by_ann = talk.start(ann, pings(5));
  const Talker& by_bob = talk.start(bob, {ping(1, 11), ping(4.2, 12)});
  talk.run();
  const auto of = [&](NodeId node, const Talker& talker) {
    return talk.world.find(node) != nullptr ? talker.heard : std::vector<std::string>{"dead"};
  };
  return {of(server, by_server), of(ann, by_ann), of(bob, by_bob)};
}

std::vector<std::string> numbers(const std::vector<std::string>& heard) {
  std::vector<std::string> all;
  for (const std::string& line : heard) all.push_back(line.substr(0, line.find(" from")));
  return all;
}

TEST(Faults, NoneChangesNothing) {
  EXPECT_THAT(numbers(heard_under({}).by_server),
              ElementsAre("11 ping 1", "11 ping 11", "12 ping 2", "13 ping 3", "14 ping 4", "14 ping 12",
                          "15 ping 5"));
}

TEST(Faults, ADelayedMessageHoldsBackWhatIsBehindIt) {
  const Heard heard = heard_under({{.effect = Effect::delay,
                                    .from = ann,
                                    .first = 1,
                                    .count = 1,
                                    .least = milliseconds(7),
                                    .most = milliseconds(7)}});
  EXPECT_THAT(numbers(heard.by_server), ElementsAre("11 ping 1", "11 ping 11", "14 ping 12", "19 ping 2",
                                                    "19 ping 3", "19 ping 4", "19 ping 5"));
}

TEST(Faults, DelaysAreDrawnFromTheSeed) {
  const std::vector<Fault> faults{
      {.effect = Effect::delay, .least = milliseconds(1), .most = milliseconds(50)}};
  EXPECT_EQ(heard_under(faults, 3), heard_under(faults, 3));
  EXPECT_NE(heard_under(faults, 3), heard_under(faults, 4));
}

TEST(Faults, AHeldMessageArrivesWhenTheWindowIsOver) {
  const Heard heard =
      heard_under({{.effect = Effect::hold, .to = server, .begin = at_ms(2), .end = at_ms(4)}});
  EXPECT_THAT(numbers(heard.by_server), ElementsAre("11 ping 1", "11 ping 11", "14 ping 2", "14 ping 3",
                                                    "14 ping 4", "14 ping 12", "15 ping 5"));
}

TEST(Faults, ALostMessageIsOneOfManyByItsPlace) {
  const Heard heard = heard_under({{.effect = Effect::lose, .from = ann, .first = 2, .count = 2}});
  EXPECT_THAT(numbers(heard.by_server),
              ElementsAre("11 ping 1", "11 ping 11", "12 ping 2", "14 ping 12", "15 ping 5"));
  EXPECT_THAT(numbers(heard.by_ann), ElementsAre("11 pong 21")) << "and nobody is told";
}

TEST(Faults, APartitionMayBeOneWay) {
  const Heard heard = heard_under({{.effect = Effect::lose, .from = server, .to = Role::worker}});
  EXPECT_EQ(heard.by_server.size(), 7U);
  EXPECT_THAT(heard.by_ann, IsEmpty());
  EXPECT_THAT(heard.by_bob, IsEmpty());
}

TEST(Faults, APartitionMayBePartialAndPass) {
  const Heard heard = heard_under(
      {{.effect = Effect::lose, .from = ann, .to = server, .begin = at_ms(0), .end = at_ms(13.5)}});
  EXPECT_THAT(numbers(heard.by_server), ElementsAre("11 ping 11", "14 ping 4", "14 ping 12", "15 ping 5"));
  EXPECT_EQ(heard.by_ann.size(), 1U);
}

TEST(Faults, OneKindOfMessageMayBeStruck) {
  const Heard heard = heard_under({{.effect = Effect::lose, .kind = says<ToWorker, Pong>}});
  EXPECT_EQ(heard.by_server.size(), 7U);
  EXPECT_THAT(heard.by_ann, IsEmpty());
}

TEST(Faults, ARepeatedMessageComesAgainBehindTheOthers) {
  const Heard heard = heard_under({{.effect = Effect::repeat, .from = ann, .first = 1, .count = 1}});
  EXPECT_THAT(numbers(heard.by_server), ElementsAre("11 ping 1", "11 ping 11", "12 ping 2", "13 ping 3",
                                                    "14 ping 4", "14 ping 12", "15 ping 5", "22 ping 2"));
}

TEST(Faults, ACutMessageIsLostWithItsConnection) {
  const Heard heard = heard_under({{.effect = Effect::cut, .from = ann, .first = 1, .count = 1}});
  EXPECT_THAT(numbers(heard.by_server), ElementsAre("11 ping 1", "11 ping 11", "14 ping 12", "22 lost"));
  EXPECT_THAT(numbers(heard.by_ann), ElementsAre("11 pong 21", "22 lost"));
  EXPECT_THAT(numbers(heard.by_bob), ElementsAre("13 pong 22"));
}

TEST(Faults, APausedNodeGoesOnWhereItWas) {
  const Heard heard = heard_under({{.effect = Effect::pause,
                                    .to = server,
                                    .count = 1,
                                    .least = milliseconds(3),
                                    .most = milliseconds(3)}});
  EXPECT_THAT(numbers(heard.by_server), ElementsAre("11 ping 1", "14 ping 11", "14 ping 2", "14 ping 3",
                                                    "14 ping 4", "14 ping 12", "15 ping 5"));
}

TEST(Faults, AKilledNodeDiesBeforeTheMessage) {
  Heard heard = heard_under({{.effect = Effect::kill, .to = server, .first = 3, .count = 1}});
  EXPECT_THAT(heard.by_server, ElementsAre("dead"));
  EXPECT_THAT(numbers(heard.by_ann), ElementsAre("11 pong 21", "23 lost"));
  heard = heard_under({{.effect = Effect::kill, .to = server, .first = 3, .count = 1, .node = bob}});
  EXPECT_THAT(heard.by_bob, ElementsAre("dead"));
  EXPECT_THAT(numbers(heard.by_server), testing::Contains("23 lost"));
}

TEST(Faults, ChanceIsDrawnFromTheSeed) {
  const std::vector<Fault> faults{{.effect = Effect::lose, .chance = 0.5}};
  std::size_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    EXPECT_EQ(heard_under(faults, seed), heard_under(faults, seed));
    lost += 7 - heard_under(faults, seed).by_server.size();
  }
  EXPECT_NEAR(static_cast<double>(lost), 350, 50);
}

// What is told on one machine is not struck by what happens between machines.
TEST(Faults, TheNewsOfALossIsNotLost) {
  Talk talk({{.effect = Effect::lose}});
  const Talker& heard = talk.start(server);
  talk.start(ann, pings(2));
  talk.run_until(2);
  talk.world.kill(ann);
  talk.run();
  EXPECT_THAT(numbers(heard.heard), ElementsAre("12 lost"));
}

}  // namespace
}  // namespace steelyard::sim::faults_test
