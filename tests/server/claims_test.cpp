#include "server/claims.h"

#include <gtest/gtest.h>

#include "tests/server/shard_case.h"

namespace steelyard::test {
namespace {

TEST(Claims, WhoIsFirstHasItForGood) {
  Claims claims;
  EXPECT_TRUE(claims.grant(1, Role::standby));
  EXPECT_FALSE(claims.grant(1, Role::scheduler));
  EXPECT_TRUE(claims.grant(1, Role::standby)) << "the answer was lost";
  EXPECT_TRUE(claims.grant(2, Role::scheduler)) << "another standby";
  EXPECT_FALSE(claims.grant(2, Role::standby));
}

TEST(Claims, AShardAnswersWhoeverAsks) {
  ShardCase shard(shard_job(10, 4));
  const NodeId standby{Role::standby, 9};
  const auto to_standby = heard<Granted>(shard.tell(standby, Claim{ShardCase::term, 7}));
  ASSERT_EQ(to_standby.size(), 1u);
  EXPECT_TRUE(to_standby[0].granted);
  const auto to_scheduler = heard<Granted>(shard.tell(scheduler_node, Claim{ShardCase::term, 7}));
  ASSERT_EQ(to_scheduler.size(), 1u);
  EXPECT_FALSE(to_scheduler[0].granted);
  EXPECT_TRUE(heard<Granted>(shard.tell(standby, Claim{ShardCase::term + 1, 8})).empty()) << "another job's";
}

// The scheduler may be lost before it has welcomed the only one who can decide.
TEST(Claims, AShardAnswersBeforeItIsWelcome) {
  Replica shard({shard_node, {0, "s", "", DeviceKind::cpu, 0}, {}});
  Outbox out(shard_node);
  shard.step(Time{}, {{Role::standby, 9}, shard_node, Message(ToShard(Claim{4, 7}))}, out);
  const auto answers = heard<Granted>(out.take());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].granted);
}

}  // namespace
}  // namespace steelyard::test
