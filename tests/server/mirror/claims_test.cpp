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

TEST(Claims, GrantsToTheFirstClaimantAreFinal) {
  Claims claims;
  EXPECT_TRUE(claims.arbitrate({ShardCase::term, 1, 0}));
  EXPECT_TRUE(claims.answer(by_standby(1)));
  EXPECT_FALSE(claims.answer(by_scheduler(1)));
  EXPECT_TRUE(claims.answer(by_standby(1))) << "the answer was lost";
  EXPECT_TRUE(claims.arbitrate({ShardCase::term, 2, 0}));
  EXPECT_TRUE(claims.answer(by_scheduler(2))) << "another standby";
  EXPECT_FALSE(claims.answer(by_standby(2)));
}

// A process that replaces a lost one, or that the scheduler has not named as arbiter.
TEST(Claims, OnlyANamedArbiterGrantsToAStandby) {
  Claims claims;
  EXPECT_FALSE(claims.answer(by_standby(1)));
  EXPECT_TRUE(claims.arbitrate({ShardCase::term, 2, 0}));
  EXPECT_FALSE(claims.answer(by_standby(1)));
  EXPECT_TRUE(claims.answer(by_scheduler(3))) << "granted, since this process has granted no standby's claim";
  EXPECT_FALSE(claims.answer(by_standby(3)));
}

TEST(Claims, AClaimOfAnEarlierGenerationIsRefused) {
  Claims claims;
  claims.lead(2);
  EXPECT_FALSE(claims.answer(by_scheduler(7, 1)));
  EXPECT_FALSE(claims.answer(by_standby(7, 1)));
  EXPECT_FALSE(claims.arbitrate({ShardCase::term, 7, 1}));
  EXPECT_TRUE(claims.answer(by_scheduler(8, 2)));
}

TEST(Claims, AShardAnswersTheClaimant) {
  ShardCase shard(shard_job(10, 4));
  const auto confirmed = heard<Arbitrates>(shard.deliver(scheduler_node, Arbitrate{ShardCase::term, 7, 0}));
  ASSERT_EQ(confirmed.size(), 1u);
  EXPECT_EQ(confirmed[0].attempt, 7u);
  const auto to_standby = heard<LeaderGrant>(shard.deliver(standby, by_standby(7)));
  ASSERT_EQ(to_standby.size(), 1u);
  EXPECT_TRUE(to_standby[0].granted);
  const auto to_scheduler = heard<LeaderGrant>(shard.deliver(scheduler_node, by_scheduler(7)));
  ASSERT_EQ(to_scheduler.size(), 1u);
  EXPECT_FALSE(to_scheduler[0].granted);
  LeaderClaim other = by_standby(8);
  other.term = ShardCase::term + 1;
  EXPECT_TRUE(heard<LeaderGrant>(shard.deliver(standby, other)).empty()) << "another job";
  other = by_standby(8);
  other.shard.number = 99;
  EXPECT_TRUE(heard<LeaderGrant>(shard.deliver(standby, other)).empty())
      << "for another process in this slot";
}

TEST(Claims, AHeartbeatSetsTheGeneration) {
  ShardCase shard(shard_job(10, 4));
  shard.deliver(scheduler_node, SchedulerBeat{ShardCase::term, 1});
  const auto former = heard<LeaderGrant>(shard.deliver(standby, by_scheduler(7, 0)));
  ASSERT_EQ(former.size(), 1u);
  EXPECT_FALSE(former[0].granted);
}

// The scheduler may be lost before it has admitted the only possible arbiter.
TEST(Claims, AShardAnswersClaimsBeforeItIsAdmitted) {
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
