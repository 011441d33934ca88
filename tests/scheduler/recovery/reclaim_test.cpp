// A scheduler that had a standby and was killed leads again only if the servers grant it.
#include "scheduler/recovery/reclaim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/heard.h"

namespace steelyard::reclaim_test {
namespace {

using Answer = Reclaim::Answer;

constexpr NodeId self{Role::standby, 5}, first{Role::shard, 1}, arbiter{Role::shard, 2},
    its_mirror{Role::shard, 3}, stranger{Role::shard, 4};
Time at(double s) { return Time{from_seconds(s)}; }

struct Reclaiming : testing::Test {
  Reclaiming() {
    members.generation = 2;
    members.shards.try_emplace(0, ShardMember{first, 0, "first", "tcp://f", {}, {}});
    members.shards.try_emplace(1, ShardMember{arbiter, 1, "last", "tcp://l", {}, {}});
    members.mirrors.try_emplace(1, MirrorMember{its_mirror, 1, "mirror", "tcp://m", {}});
  }
  void begin(std::vector<NodeId> arbiters) {
    reclaim.emplace(4, StandbyFeed::Follower{7, std::move(arbiters)}, members, from_seconds(60));
    wake(1);
  }
  void wake(double when) {
    Outbox out(self);
    reclaim->wake(at(when), out);
    for (Envelope& it : out.take()) sent.push_back(std::move(it));
  }
  void receive(NodeId from, LeaderGrant granted) {
    Outbox out(self);
    reclaim->step(at(1), {from, self, Message(ToStandby(granted))}, out);
  }

  Members members;
  std::optional<Reclaim> reclaim;
  std::vector<Envelope> sent;
};

TEST_F(Reclaiming, AsksAllServersInTheJournal) {
  begin({arbiter});
  EXPECT_EQ(test::heard<Connect>(sent).size(), 3u);
  const auto claims = test::heard<LeaderClaim>(sent);
  ASSERT_EQ(claims.size(), 3u);
  EXPECT_EQ(claims[1].shard, arbiter);
  EXPECT_EQ(claims[1].attempt, 7u);
  EXPECT_EQ(claims[1].generation, 2u);
  EXPECT_FALSE(claims[1].standby);
  wake(1.01);
  EXPECT_EQ(test::heard<LeaderClaim>(sent).size(), 3u);
  wake(1.1);
  EXPECT_EQ(test::heard<LeaderClaim>(sent).size(), 6u);
}

TEST_F(Reclaiming, LeadsWhenAllArbitersGrantIt) {
  begin({arbiter, its_mirror});
  receive(first, {7, true});
  receive(arbiter, {7, true});
  receive(its_mirror, {6, true});
  EXPECT_FALSE(reclaim->finished()) << "an answer to another attempt";
  receive(its_mirror, {7, true});
  EXPECT_EQ(reclaim->answer(), Answer::granted);
}

TEST_F(Reclaiming, AnyServerInTheJournalMayRefuse) {
  begin({arbiter});
  receive(stranger, {7, false});
  EXPECT_FALSE(reclaim->finished());
  receive(first, {7, false});
  EXPECT_EQ(reclaim->answer(), Answer::refused);
}

TEST_F(Reclaiming, GivesUpWhenTheArbitersAreGone) {
  begin({arbiter});
  receive(first, {7, true});
  wake(60);
  EXPECT_FALSE(reclaim->finished());
  wake(62);
  EXPECT_TRUE(reclaim->finished());
  EXPECT_EQ(reclaim->answer(), Answer::none);
}

TEST_F(Reclaiming, WithoutShardsNoGrantIsNeeded) {
  members.shards.clear();
  begin({});
  EXPECT_EQ(reclaim->answer(), Answer::granted);
}

}  // namespace
}  // namespace steelyard::reclaim_test
