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
  // The mirror knows its primary.
  void confirm(std::uint64_t attempt) { mirrors.heard(now, copy, {attempt}, out); }
  std::vector<Envelope> said() { return out.take(); }
  void tell(const MirrorState& state) { mirrors.heard(now, primary, state, out); }
  void fill() {
    confirm(1);
    tell({1, true});
    (void)said();
  }

  Job job;
  Members members;
  Time now{std::chrono::seconds(100)};
  Outbox out{scheduler_node};
  Mirrors mirrors{job, term, members};
};

TEST_F(MirrorsCase, APrimaryIsToldOfItsMirrorOnceThatKnowsItsPrimary) {
  const std::vector<Envelope> named = said();
  EXPECT_THAT(test::heard<Mirror>(named), IsEmpty());
  ASSERT_THAT(test::heard<MirrorOf>(named), SizeIs(1));
  EXPECT_EQ(test::heard<MirrorOf>(named)[0].primary, primary);
  EXPECT_EQ(test::heard<MirrorOf>(named)[0].attempt, 1u);
  confirm(0);
  EXPECT_THAT(test::heard<MirrorOf>(said()), SizeIs(1)) << "it was lost";
  confirm(1);
  const std::vector<Mirror> told = test::heard<Mirror>(said());
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].node, copy);
  EXPECT_EQ(told[0].endpoint, "ipc://b");
  EXPECT_EQ(told[0].attempt, 1u);
  EXPECT_FALSE(told[0].alone);
}

TEST_F(MirrorsCase, WhatItMissesIsSaidAgain) {
  (void)said();
  tell({0});
  EXPECT_THAT(test::heard<MirrorOf>(said()), SizeIs(1));
  confirm(1);
  (void)said();
  confirm(1);
  EXPECT_THAT(said(), IsEmpty());
  tell({0});
  EXPECT_THAT(test::heard<Mirror>(said()), SizeIs(1));
  tell({1});
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(MirrorsCase, AMirrorCountsOnceItIsFilledUnderTheLatestAttempt) {
  EXPECT_FALSE(mirrors.all_filled());
  EXPECT_FALSE(mirrors.promote(0, out));
  tell({0, true});
  EXPECT_FALSE(mirrors.all_filled());
  tell({1, true});
  EXPECT_TRUE(mirrors.all_filled());
}

TEST_F(MirrorsCase, AFilledMirrorTakesTheLostOnesPlace) {
  fill();
  ASSERT_TRUE(mirrors.promote(0, out));
  const std::vector<Envelope> told = said();
  ASSERT_THAT(test::heard<Promote>(told), SizeIs(1));
  EXPECT_EQ(members.shards.at(0).node, copy);
  EXPECT_EQ(members.shards.at(0).endpoint, "ipc://b");
  EXPECT_TRUE(members.shards.at(0).doubtful);
  EXPECT_THAT(members.mirrors, IsEmpty());
  // It may not have heard.
  mirrors.heard(now, copy, {1, false, false, true}, out);
  EXPECT_THAT(test::heard<Promote>(said()), SizeIs(1));
}

TEST_F(MirrorsCase, WithoutItsMirrorAPrimaryGoesOn) {
  fill();
  EXPECT_FALSE(mirrors.lose({Role::shard, 99}, "is lost", out));
  ASSERT_TRUE(mirrors.lose(copy, "is lost", out));
  const std::vector<Mirror> told = test::heard<Mirror>(said());
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_TRUE(told[0].alone);
  EXPECT_EQ(told[0].attempt, 2u);
  EXPECT_FALSE(mirrors.promote(0, out));
  tell({1, true});  // what it said before it heard that
  EXPECT_FALSE(mirrors.all_filled());
}

TEST_F(MirrorsCase, OneThatIsLateAndAliveIsFilledAnew) {
  fill();
  tell({1, true, true});
  EXPECT_THAT(test::heard<Mirror>(said()), IsEmpty());
  confirm(2);
  const std::vector<Mirror> told = test::heard<Mirror>(said());
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_FALSE(told[0].alone);
  EXPECT_EQ(told[0].attempt, 2u);
  EXPECT_FALSE(mirrors.all_filled());
}

// Its primary cannot reach it, or its machine is too slow.
TEST_F(MirrorsCase, OneThatIsLateAgainAndAgainIsFilledAfterPausesThatGrow) {
  fill();
  std::uint64_t attempt = 1;
  const auto late = [&] { tell({attempt++, true, true}); };
  late();
  confirm(attempt);
  EXPECT_FALSE(test::heard<Mirror>(said()).at(0).alone) << "at once";
  for (const double pause : {1., 2., 4.}) {
    late();
    EXPECT_TRUE(test::heard<Mirror>(said()).at(0).alone) << "the primary goes on without";
    EXPECT_FALSE(mirrors.promote(0, out));
    now = now + from_seconds(pause - 0.1);
    mirrors.heard(now, copy);
    tell({attempt});
    EXPECT_THAT(said(), IsEmpty());
    now = now + from_seconds(0.2);
    tell({attempt++});
    EXPECT_THAT(test::heard<MirrorOf>(said()), SizeIs(1)) << pause;
    confirm(attempt);
    tell({attempt, true});
    (void)said();
    EXPECT_TRUE(mirrors.all_filled());
  }
  now = now + std::chrono::minutes(2);
  mirrors.heard(now, copy);
  late();
  EXPECT_THAT(test::heard<MirrorOf>(said()), SizeIs(1)) << "it had kept up for long: at once";
}

TEST_F(MirrorsCase, OneThatIsLateAndSilentIsLost) {
  fill();
  now = now + std::chrono::seconds(3);
  tell({1, true, true});
  EXPECT_TRUE(test::heard<Mirror>(said()).at(0).alone);
  EXPECT_THAT(members.mirrors, IsEmpty());
}

TEST_F(MirrorsCase, ASilentOneIsLost) {
  (void)said();
  mirrors.beat(out);
  EXPECT_THAT(test::heard<SchedulerBeat>(said()), SizeIs(1));
  mirrors.give_up_silent([](const MirrorMember&) { return false; }, out);
  EXPECT_THAT(members.mirrors, SizeIs(1));
  mirrors.give_up_silent([](const MirrorMember& mirror) { return mirror.node == copy; }, out);
  EXPECT_THAT(members.mirrors, IsEmpty());
}

TEST_F(MirrorsCase, AnUnusuallySilentPrimaryIsNoBetterThanItsMirror) {
  fill();
  const ShardMember& shard = members.shards.at(0);
  const auto in = [&](double s) { return now + from_seconds(s); };
  const double few = unusual_times * job.heartbeat;
  EXPECT_FALSE(mirrors.better_than(shard, in(few + 1))) << "both are silent: it is we who hear nothing";
  ASSERT_TRUE(mirrors.heard(in(few + 1), copy));
  EXPECT_TRUE(mirrors.better_than(shard, in(few + 1)));
  EXPECT_FALSE(mirrors.better_than(shard, in(few - 0.1)));
  heard(members.shards.at(0), in(3));  // it is often silent for so long
  ASSERT_TRUE(mirrors.heard(in(10), copy));
  EXPECT_FALSE(mirrors.better_than(shard, in(10)));
}

TEST_F(MirrorsCase, NoneAreWantedWithoutReplicas) {
  job.replicas = 0;
  EXPECT_TRUE(mirrors.all_filled());
}

}  // namespace
}  // namespace steelyard::mirrors_test
