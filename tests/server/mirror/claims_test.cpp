#include <gtest/gtest.h>

#include "server/mirror/replica.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::test::claims_test {
namespace {

LeaderClaim by_scheduler(std::uint64_t attempt, std::uint64_t generation = 0) {
  return {ShardCase::term, attempt, shard_node, generation, false};
}
LeaderClaim by_standby(std::uint64_t attempt, std::uint64_t generation = 0) {
  return {ShardCase::term, attempt, shard_node, generation, true};
}
constexpr NodeId standby{Role::standby, 9};

TEST(Claims, TheFirstClaimantHasItForGood) {
  Claims claims;
  EXPECT_TRUE(claims.arbitrate({ShardCase::term, 1, 0}));
  EXPECT_TRUE(claims.answer(by_standby(1)));
  EXPECT_FALSE(claims.answer(by_scheduler(1)));
  EXPECT_TRUE(claims.answer(by_standby(1))) << "the answer was lost";
  EXPECT_TRUE(claims.arbitrate({ShardCase::term, 2, 0}));
  EXPECT_TRUE(claims.answer(by_scheduler(2))) << "another standby";
  EXPECT_FALSE(claims.answer(by_standby(2)));
}

// A process that was started in a lost one's place, or one that the scheduler has not asked to decide.
TEST(Claims, WithoutTheSchedulersWordNoStandbyLeads) {
  Claims claims;
  EXPECT_FALSE(claims.answer(by_standby(1)));
  EXPECT_TRUE(claims.arbitrate({ShardCase::term, 2, 0}));
  EXPECT_FALSE(claims.answer(by_standby(1)));
  EXPECT_TRUE(claims.answer(by_scheduler(3))) << "it only has to know that no standby was granted it here";
  EXPECT_FALSE(claims.answer(by_standby(3)));
}

TEST(Claims, AClaimantThatFollowsAnEarlierLeaderIsRefused) {
  Claims claims;
  claims.lead(2);
  EXPECT_FALSE(claims.answer(by_scheduler(7, 1)));
  EXPECT_FALSE(claims.answer(by_standby(7, 1)));
  EXPECT_FALSE(claims.arbitrate({ShardCase::term, 7, 1}));
  EXPECT_TRUE(claims.answer(by_scheduler(8, 2)));
}

TEST(Claims, AShardAnswersTheOneThatAsks) {
  ShardCase shard(shard_job(10, 4));
  const auto confirmed = heard<Arbitrates>(shard.tell(scheduler_node, Arbitrate{ShardCase::term, 7, 0}));
  ASSERT_EQ(confirmed.size(), 1u);
  EXPECT_EQ(confirmed[0].attempt, 7u);
  const auto to_standby = heard<LeaderGrant>(shard.tell(standby, by_standby(7)));
  ASSERT_EQ(to_standby.size(), 1u);
  EXPECT_TRUE(to_standby[0].granted);
  const auto to_scheduler = heard<LeaderGrant>(shard.tell(scheduler_node, by_scheduler(7)));
  ASSERT_EQ(to_scheduler.size(), 1u);
  EXPECT_FALSE(to_scheduler[0].granted);
  LeaderClaim other = by_standby(8);
  other.term = ShardCase::term + 1;
  EXPECT_TRUE(heard<LeaderGrant>(shard.tell(standby, other)).empty()) << "another job's";
  other = by_standby(8);
  other.shard.number = 99;
  EXPECT_TRUE(heard<LeaderGrant>(shard.tell(standby, other)).empty()) << "for another process at this place";
}

TEST(Claims, AHeartbeatTellsWhichSchedulerLeads) {
  ShardCase shard(shard_job(10, 4));
  shard.tell(scheduler_node, SchedulerBeat{ShardCase::term, 1});
  const auto former = heard<LeaderGrant>(shard.tell(standby, by_scheduler(7, 0)));
  ASSERT_EQ(former.size(), 1u);
  EXPECT_FALSE(former[0].granted);
}

// The scheduler may be lost before it has welcomed the only one that can decide.
TEST(Claims, AShardAnswersBeforeItIsWelcome) {
  Replica shard({shard_node, {0, "s", "", DeviceKind::cpu, 0}, {}});
  Outbox out(shard_node);
  shard.step(Time{}, {scheduler_node, shard_node, Message(ToShard(Arbitrate{4, 7, 0}))}, out);
  shard.step(Time{}, {standby, shard_node, Message(ToShard(LeaderClaim{4, 7, shard_node, 0, true}))}, out);
  const auto answers = heard<LeaderGrant>(out.take());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].granted);
}

}  // namespace
}  // namespace steelyard::test::claims_test
