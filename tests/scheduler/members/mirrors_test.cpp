#include "scheduler/members/mirrors.h"

#include <gmock/gmock.h>

#include "scheduler/members/liveness.h"
#include "tests/support/heard.h"

namespace steelyard::mirrors_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId primary{Role::shard, 10}, copy{Role::shard, 11};
constexpr Term term = 3;

struct MirrorsCase : testing::Test {
  MirrorsCase() {
    job.replicas = 1;
    members.shards.try_emplace(0, ShardMember{primary, 0, "server-0", "ipc://a", now, {}});
    members.mirrors.try_emplace(0, MirrorMember{copy, 0, "server-1", "ipc://b", now});
    mirrors.joined(0, out);
  }
  // The mirror confirms that it knows its primary.
  void confirm(std::uint64_t attempt) { mirrors.heard(now, copy, {attempt}, out); }
  std::vector<Envelope> sent() { return out.take(); }
  void report(const MirrorState& state) { mirrors.heard(now, primary, state, out); }
  void fill() {
    confirm(1);
    report({1, true});
    (void)sent();
  }

  Job job;
  Members members;
  Time now{std::chrono::seconds(100)};
  Outbox out{scheduler_node};
  Mirrors mirrors{job, term, members};
};

TEST_F(MirrorsCase, APrimaryLearnsItsMirrorOnceTheMirrorConfirms) {
  const std::vector<Envelope> named = sent();
  EXPECT_THAT(test::heard<Mirror>(named), IsEmpty());
  ASSERT_THAT(test::heard<MirrorOf>(named), SizeIs(1));
  EXPECT_EQ(test::heard<MirrorOf>(named)[0].primary, primary);
  EXPECT_EQ(test::heard<MirrorOf>(named)[0].attempt, 1u);
  confirm(0);
  EXPECT_THAT(test::heard<MirrorOf>(sent()), SizeIs(1)) << "resent: the first was lost";
  confirm(1);
  const std::vector<Mirror> messages = test::heard<Mirror>(sent());
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].node, copy);
  EXPECT_EQ(messages[0].endpoint, "ipc://b");
  EXPECT_EQ(messages[0].attempt, 1u);
  EXPECT_FALSE(messages[0].alone);
}

TEST_F(MirrorsCase, MissedMessagesAreResent) {
  (void)sent();
  report({0});
  EXPECT_THAT(test::heard<MirrorOf>(sent()), SizeIs(1));
  confirm(1);
  (void)sent();
  confirm(1);
  EXPECT_THAT(sent(), IsEmpty());
  report({0});
  EXPECT_THAT(test::heard<Mirror>(sent()), SizeIs(1));
  report({1});
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(MirrorsCase, AMirrorCountsOnceFilledInTheLatestAttempt) {
  EXPECT_FALSE(mirrors.all_filled());
  EXPECT_FALSE(mirrors.promote(0, out));
  report({0, true});
  EXPECT_FALSE(mirrors.all_filled());
  report({1, true});
  EXPECT_TRUE(mirrors.all_filled());
}

TEST_F(MirrorsCase, AFilledMirrorReplacesALostPrimary) {
  fill();
  ASSERT_TRUE(mirrors.promote(0, out));
  const std::vector<Envelope> messages = sent();
  ASSERT_THAT(test::heard<Promote>(messages), SizeIs(1));
  EXPECT_EQ(members.shards.at(0).node, copy);
  EXPECT_EQ(members.shards.at(0).endpoint, "ipc://b");
  EXPECT_TRUE(members.shards.at(0).doubtful);
  EXPECT_THAT(members.mirrors, IsEmpty());
  // Promote may have been lost.
  mirrors.heard(now, copy, {1, false, false, true}, out);
  EXPECT_THAT(test::heard<Promote>(sent()), SizeIs(1));
}

TEST_F(MirrorsCase, APrimaryContinuesWithoutALostMirror) {
  fill();
  EXPECT_FALSE(mirrors.lose({Role::shard, 99}, "is lost", out));
  ASSERT_TRUE(mirrors.lose(copy, "is lost", out));
  const std::vector<Mirror> messages = test::heard<Mirror>(sent());
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_TRUE(messages[0].alone);
  EXPECT_EQ(messages[0].attempt, 2u);
  EXPECT_FALSE(mirrors.promote(0, out));
  report({1, true});  // sent before it received that
  EXPECT_FALSE(mirrors.all_filled());
}

TEST_F(MirrorsCase, ALateMirrorIsFilledAgain) {
  fill();
  report({1, true, true});
  EXPECT_THAT(test::heard<Mirror>(sent()), IsEmpty());
  confirm(2);
  const std::vector<Mirror> messages = test::heard<Mirror>(sent());
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_FALSE(messages[0].alone);
  EXPECT_EQ(messages[0].attempt, 2u);
  EXPECT_FALSE(mirrors.all_filled());
}

// The primary cannot reach its mirror, or the mirror's machine is too slow.
TEST_F(MirrorsCase, ARepeatedlyLateMirrorIsFilledAfterGrowingPauses) {
  fill();
  std::uint64_t attempt = 1;
  const auto late = [&] { report({attempt++, true, true}); };
  late();
  confirm(attempt);
  EXPECT_FALSE(test::heard<Mirror>(sent()).at(0).alone) << "refilled at once";
  for (const double pause : {1., 2., 4.}) {
    late();
    EXPECT_TRUE(test::heard<Mirror>(sent()).at(0).alone) << "the primary continues without it";
    EXPECT_FALSE(mirrors.promote(0, out));
    now = now + from_seconds(pause - 0.1);
    mirrors.heard(now, copy);
    report({attempt});
    EXPECT_THAT(sent(), IsEmpty());
    now = now + from_seconds(0.2);
    report({attempt++});
    EXPECT_THAT(test::heard<MirrorOf>(sent()), SizeIs(1)) << pause;
    confirm(attempt);
    report({attempt, true});
    (void)sent();
    EXPECT_TRUE(mirrors.all_filled());
  }
  now = now + std::chrono::minutes(2);
  mirrors.heard(now, copy);
  late();
  EXPECT_THAT(test::heard<MirrorOf>(sent()), SizeIs(1)) << "it had kept up for two minutes: refilled at once";
}

TEST_F(MirrorsCase, ALateAndSilentMirrorIsLost) {
  fill();
  now = now + std::chrono::seconds(3);
  report({1, true, true});
  EXPECT_TRUE(test::heard<Mirror>(sent()).at(0).alone);
  EXPECT_THAT(members.mirrors, IsEmpty());
}

TEST_F(MirrorsCase, ASilentMirrorIsLost) {
  (void)sent();
  mirrors.beat(out);
  EXPECT_THAT(test::heard<SchedulerBeat>(sent()), SizeIs(1));
  mirrors.give_up_silent([](const MirrorMember&) { return false; }, out);
  EXPECT_THAT(members.mirrors, SizeIs(1));
  mirrors.give_up_silent([](const MirrorMember& mirror) { return mirror.node == copy; }, out);
  EXPECT_THAT(members.mirrors, IsEmpty());
}

TEST_F(MirrorsCase, AMirrorIsBetterThanAnUnusuallySilentPrimary) {
  fill();
  const ShardMember& shard = members.shards.at(0);
  const auto in = [&](double s) { return now + from_seconds(s); };
  const double few = unusual_times * job.heartbeat;
  EXPECT_FALSE(mirrors.better_than(shard, in(few + 1))) << "both are silent: our network failed";
  ASSERT_TRUE(mirrors.heard(in(few + 1), copy));
  EXPECT_TRUE(mirrors.better_than(shard, in(few + 1)));
  EXPECT_FALSE(mirrors.better_than(shard, in(few - 0.1)));
  heard(members.shards.at(0), in(3));  // now such a silence is usual
  ASSERT_TRUE(mirrors.heard(in(10), copy));
  EXPECT_FALSE(mirrors.better_than(shard, in(10)));
}

TEST_F(MirrorsCase, WithoutReplicasNoMirrorIsRequired) {
  job.replicas = 0;
  EXPECT_TRUE(mirrors.all_filled());
}

}  // namespace
}  // namespace steelyard::mirrors_test
