// A shard, message by message: joining, rounds, pulls, the clip barrier, exit.
#include "server/shard/shard.h"

#include <limits>

#include "tests/server/shard/shard_case.h"

namespace steelyard::shard_test {
namespace {

using test::shard_job;
using test::ShardCase;
using test::worker_node;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Shard, JoinsLoadsAndReportsIt) {
  ShardCase it(shard_job());
  ASSERT_EQ(it.sent<ShardBeat>().size(), 1U) << "the first heartbeat after Welcome";
  EXPECT_FALSE(it.sent<ShardBeat>()[0].loaded);
  it.load(7);
  ASSERT_EQ(it.sent<ShardBeat>().size(), 1U);
  EXPECT_TRUE(it.sent<ShardBeat>()[0].loaded);
  EXPECT_EQ(it.sent<ShardBeat>()[0].version, 7U);
  EXPECT_EQ(it.sent<ShardBeat>()[0].opened, 7U);
}

TEST(Shard, OwnsTheSlicesOfItsSlot) {
  Job job = shard_job(10, 2);  // five slices
  job.shards = 2;
  ShardCase first(job, 0), second(job, 1);
  EXPECT_EQ(first.shard.slices().size(), 2U);
  EXPECT_EQ(second.shard.slices().size(), 3U);
  EXPECT_EQ(second.shard.slices()[0].place().begin, 4U);
}

TEST(Shard, InvalidStateChunksAreCounted) {
  ShardCase it(shard_job());
  it.deliver(test::checkpointer_node, StateChunk{it.term, 0, 0, 0, 0, ShardCase::constant(3, 0)});
  it.deliver(test::checkpointer_node, StateChunk{it.term, 0, 0, 1, 0, ShardCase::constant(4, 0)});
  EXPECT_EQ(it.shard.counts().malformed, 2U);
  it.deliver(test::checkpointer_node, StateChunk{it.term, 0, 99, 0, 0, ShardCase::constant(4, 0)});
  it.deliver(test::checkpointer_node, StateChunk{it.term + 1, 0, 0, 0, 0, ShardCase::constant(4, 0)});
  it.load();
  EXPECT_TRUE(it.shard.loaded());
  it.deliver(test::checkpointer_node, StateChunk{it.term, 5, 0, 0, 5, ShardCase::constant(4, 9)});
  EXPECT_EQ(it.parameters()[0], 0.0F) << "a loaded slice is not loaded again";
}

TEST(Shard, ARoundClosesOnceEveryPositionHasArrived) {
  ShardCase it(shard_job());
  it.load();
  it.open(0, {0, 8});
  for (std::uint32_t slice = 0; slice < 3; ++slice) {
    it.deliver(worker_node(1), it.push(0, {0, 5}, slice));
    EXPECT_THAT(it.sent<Closed>(), IsEmpty());
  }
  it.deliver(worker_node(2), it.push(0, {5, 8}, 2));
  it.deliver(worker_node(2), it.push(0, {5, 8}, 0));
  EXPECT_EQ(it.shard.version(), 0U);
  it.deliver(worker_node(2), it.push(0, {5, 8}, 1));
  ASSERT_EQ(it.sent<Closed>().size(), 1U);
  EXPECT_EQ(it.sent<Closed>()[0].version, 1U);
  test::PlainLoop plain(it.job);
  plain.round({0, 8});
  EXPECT_EQ(it.parameters(), plain.parameters);
}

TEST(Shard, HeartbeatsListTheFirstGapsOfTheOldestRound) {
  ShardCase it(shard_job());
  it.load();
  it.open(0, {0, 100});
  it.deliver(worker_node(1), it.push(0, {10, 20}, 0));
  it.deliver(worker_node(1), it.push(0, {10, 15}, 1));
  it.wake(1);
  ASSERT_EQ(it.sent<ShardBeat>().size(), 1U);
  EXPECT_THAT(it.sent<ShardBeat>()[0].gaps,
              ElementsAre(Interval{0, 10}, Interval{0, 100}, Interval{15, 100}, Interval{20, 100}))
      << "the gaps of each slice separately";
  for (Position p = 0; p < 100; p += 2) {
    for (std::uint32_t slice = 0; slice < 3; ++slice)
      it.deliver(worker_node(1), it.push(0, {p, p + 1}, slice));
  }
  it.wake(1);
  const auto gaps = it.sent<ShardBeat>()[0].gaps;
  EXPECT_EQ(gaps.size(), 16U) << "the limit of a heartbeat";
  EXPECT_EQ(gaps.front(), (Interval{1, 2}));
}

TEST(Shard, HeartbeatsReportProgress) {
  ShardCase it(shard_job(10, 4, nn::Optimizer::Kind::momentum));
  it.deliver(test::checkpointer_node, StateChunk{it.term, 0, 0, 0, 0, ShardCase::constant(4, 0)});
  it.deliver(test::checkpointer_node, StateChunk{it.term, 0, 1, 1, 0, ShardCase::constant(4, 0)});
  it.wake(1);
  EXPECT_EQ(it.sent<ShardBeat>()[0].parts, 2U);
  it.load();
  EXPECT_EQ(it.sent<ShardBeat>()[0].parts, 6U) << "three slices, two slots each";
  EXPECT_EQ(it.sent<ShardBeat>()[0].added, 0U);
  it.open(0, {0, 4});
  it.deliver(worker_node(1), it.push(0, {0, 2}, 0));
  it.deliver(worker_node(1), it.push(0, {0, 2}, 0));
  it.deliver(worker_node(2), it.push(0, {2, 4}, 1));
  it.wake(1);
  EXPECT_EQ(it.sent<ShardBeat>()[0].added, 2U) << "one of the three was a duplicate";
}

TEST(Shard, RequestsItsStateWithinAWindow) {
  ShardCase it(shard_job(40, 2));  // 20 slices
  it.deliver(test::checkpointer_node, StateOffer{it.term + 1});
  EXPECT_THAT(it.output, IsEmpty()) << "another term";
  it.deliver(test::checkpointer_node, StateOffer{it.term});
  ASSERT_EQ(it.sent<StateRequest>().size(), 1U);
  EXPECT_EQ(it.sent<StateRequest>()[0].parts.size(), 1U);
  it.deliver(test::checkpointer_node, StateOffer{it.term});
  ASSERT_EQ(it.sent<StateRequest>().size(), 1U) << "an answer to each offer";
  EXPECT_THAT(it.sent<StateRequest>()[0].parts, IsEmpty()) << "nothing is requested twice";
  EXPECT_FALSE(it.sent<StateRequest>()[0].loaded);
  std::size_t asked = 1;
  for (std::uint32_t slice = 0; slice < 20; ++slice) {
    it.deliver(test::checkpointer_node, StateChunk{it.term, 0, slice, 0, 0, ShardCase::constant(2, 0)});
    for (const StateRequest& want : it.sent<StateRequest>()) asked += want.parts.size();
    EXPECT_LE(asked - slice - 1, transfer_window) << "in flight";
  }
  EXPECT_EQ(asked, 20U);
  ASSERT_EQ(it.sent<StateRequest>().size(), 1U);
  EXPECT_TRUE(it.sent<StateRequest>()[0].loaded);
  it.deliver(test::checkpointer_node, StateOffer{it.term});
  EXPECT_TRUE(it.sent<StateRequest>().at(0).loaded);
}

TEST(Shard, ADisconnectionRepeatsRequestsInFlight) {
  ShardCase it(shard_job());
  it.deliver(test::checkpointer_node, StateOffer{it.term});
  it.wake(1);
  EXPECT_THAT(it.sent<StateRequest>(), IsEmpty());
  it.deliver(link_node, Disconnected{test::checkpointer_node});
  it.deliver(test::checkpointer_node, StateOffer{it.term});
  EXPECT_EQ(it.sent<StateRequest>().at(0).parts.size(), 1U);
  it.wake(1);
  EXPECT_THAT(it.sent<StateRequest>(), IsEmpty());
  it.wake(2);
  EXPECT_EQ(it.sent<StateRequest>().size(), 1U) << "requested again after the timeout";
}

// Two slices of 8 MB: the shard holds at most four times that in total, and twice that per sender.
TEST(Shard, HeldPushesAreLimitedInTotal) {
  const std::uint64_t floats = 2 << 20;
  ShardCase it(shard_job(2 * floats, floats));
  it.load();
  const Blob values = ShardCase::constant(floats, 1);
  for (std::uint64_t worker = 1; worker <= 10; ++worker) {
    for (const std::uint32_t slice : {0U, 1U})
      it.deliver(worker_node(worker),
                 Push{it.term, {.id = worker, .positions = {worker, worker + 1}}, 1, slice, values});
  }
  EXPECT_EQ(it.shard.counts().held, 8U);
  EXPECT_EQ(it.shard.counts().malformed, 12U);
  it.open(0, {0, 20});
  EXPECT_EQ(it.shard.counts().added, 8U);
  it.deliver(worker_node(1), Push{it.term, {.id = 11, .round = 1, .positions = {20, 21}}, 1, 0, values});
  EXPECT_EQ(it.shard.counts().held, 9U) << "added pushes free their room";
}

TEST(Shard, EarlyPushesAreHeldWithinTheSendersCredit) {
  ShardCase it(shard_job(4 << 20, 2 << 20));  // two slices of 8 MB, so the credit is 32 MB
  it.load();
  for (const Position p : {0U, 1U}) {
    for (const std::uint32_t slice : {0U, 1U}) it.deliver(worker_node(1), it.push(0, {p, p + 1}, slice));
  }
  EXPECT_EQ(it.shard.counts().held, 4U);
  it.deliver(worker_node(1), it.push(0, {2, 3}, 0));
  EXPECT_EQ(it.shard.counts().malformed, 1U) << "the credit is used up";
  it.deliver(worker_node(2), it.push(0, {2, 4}, 0));
  EXPECT_EQ(it.shard.counts().held, 5U) << "each sender has its own credit";
  it.deliver(worker_node(2), it.push(1, {0, 1}, 0));
  EXPECT_EQ(it.shard.counts().held, 5U) << "two rounds ahead is too early";

  it.open(0, {0, 4});
  EXPECT_EQ(it.shard.counts().added, 5U);
  it.deliver(worker_node(2), it.push(0, {2, 4}, 1));
  EXPECT_EQ(it.sent<Closed>().size(), 1U);
  it.deliver(worker_node(1), it.push(1, {0, 1}, 0));
  EXPECT_EQ(it.shard.counts().held, 6U) << "each round renews the credit";
}

TEST(Shard, HeldPushesAloneMayCloseTheRound) {
  ShardCase it(shard_job());
  it.load();
  for (std::uint32_t slice = 0; slice < 3; ++slice) it.deliver(worker_node(1), it.push(0, {0, 8}, slice));
  it.open(0, {0, 8});
  EXPECT_EQ(it.shard.version(), 1U);
  EXPECT_EQ(it.sent<Closed>().size(), 1U);
}

TEST(Shard, IgnoredMessagesAreCounted) {
  ShardCase it(shard_job());
  it.open(0, {0, 8});
  EXPECT_EQ(it.shard.counts().ignored, 1U) << "not loaded yet";
  it.load();
  it.deliver(scheduler_node, Welcome{it.term, 0, it.job});
  it.deliver(scheduler_node, Refuse{});
  it.deliver(test::checkpointer_node, StateChunk{it.term, 0, 0, 0, 0, ShardCase::constant(4, 0)});
  EXPECT_EQ(it.shard.counts().ignored, 4U) << "already admitted and loaded";
  it.open(0, {0, 8});
  EXPECT_EQ(it.shard.counts().ignored, 4U);
  it.open(0, {0, 8});
  it.open(2, {16, 24});
  it.deliver(test::worker_node(1), Pull{it.term + 1, 0});
  it.deliver(scheduler_node, Commit{it.term, 0, 1});
  it.deliver(test::worker_node(1), VersionMismatch{7});
  EXPECT_EQ(it.shard.counts().ignored, 9U)
      << "repeated, early, another term, no clip barrier, an unknown sender";
  Outbox out(test::shard_node);
  it.replica.step(it.now, {scheduler_node, test::shard_node, Message(std::in_place_type<ToWorker>, Resend{})},
                  out);
  EXPECT_EQ(it.shard.counts().ignored, 10U) << "for another role";
  EXPECT_EQ(it.shard.counts().malformed, 0U) << "malformed pushes are counted separately";
}

TEST(Shard, APushMustEndAtGrainBorders) {
  Job job = shard_job();
  job.grain = 4;
  ShardCase it(job);
  it.load();
  it.open(0, {2, 12});
  it.finish(0, {2, 5});
  EXPECT_EQ(it.shard.counts().malformed, it.slices.size());
  it.finish(0, {2, 6});
  it.finish(0, {6, 11});
  EXPECT_EQ(it.shard.version(), 0U);
  it.finish(0, {6, 12});
  EXPECT_EQ(it.shard.version(), 1U) << "the last grain is shorter";
}

TEST(Shard, RoundsAreOpenedInOrderAndOnce) {
  ShardCase it(shard_job());
  it.load();
  it.open(1, {8, 16});
  it.open(0, {0, 8});
  it.open(0, {0, 4}) /* repeated with other positions: the first one counts */;
  it.deliver(scheduler_node, BeginRound{it.term + 1, 1, 0, {8, 16}, 8, false, false});
  it.finish(0, {0, 4});
  EXPECT_EQ(it.shard.version(), 0U);
  it.finish(0, {4, 8});
  EXPECT_EQ(it.shard.version(), 1U);
  it.finish(1, {8, 16});
  EXPECT_EQ(it.shard.version(), 1U) << "round 1 was never opened";
}

TEST(Shard, PullsAreAnsweredNowLaterOrExpired) {
  ShardCase it(shard_job());
  it.deliver(worker_node(1), Pull{it.term, 0});
  EXPECT_THAT(it.output, IsEmpty()) << "nothing is loaded yet";
  it.load();
  EXPECT_EQ(it.sent<Parameters>().size(), 3U) << "answered as soon as the version is loaded";

  it.open(0, {0, 8});
  it.deliver(worker_node(1), Pull{it.term, 1});
  EXPECT_THAT(it.output, IsEmpty()) << "waits for the round";
  it.deliver(worker_node(2), it.push(0, {0, 8}, 1));
  ASSERT_EQ(it.sent<Parameters>().size(), 1U) << "slice by slice, as they close";
  EXPECT_EQ(it.sent<Parameters>()[0].slice, 1U);
  EXPECT_EQ(it.sent<Parameters>()[0].version, 1U);
  it.deliver(worker_node(3), Pull{it.term, 0});
  EXPECT_EQ(it.sent<Parameters>().size(), 3U)
      << "the current version of two slices, the previous one of the closed slice";
  EXPECT_EQ(it.sent<Parameters>()[1].values.floats()[0], 0.0F);
  it.deliver(worker_node(2), it.push(0, {0, 8}, 0));
  it.deliver(worker_node(2), it.push(0, {0, 8}, 2));

  it.open(1, {8, 16});
  it.deliver(worker_node(2), it.push(1, {8, 9}, 0));
  it.deliver(worker_node(4), Pull{it.term, 0});
  ASSERT_EQ(it.sent<VersionExpired>().size(), 1U)
      << "a push of the next round proves that no worker needs it";
  EXPECT_EQ(it.sent<VersionExpired>()[0].wanted, 0U);
  EXPECT_EQ(it.sent<VersionExpired>()[0].oldest, 1U);
  EXPECT_EQ(it.sent<Parameters>().size(), 2U);
  it.deliver(worker_node(4), Pull{it.term + 1, 1});
  EXPECT_THAT(it.output, IsEmpty()) << "another term";
}

TEST(Shard, ADisconnectedWorkersPullIsDropped) {
  ShardCase it(shard_job());
  it.load();
  it.open(0, {0, 8});
  it.deliver(worker_node(1), Pull{it.term, 1});
  it.deliver(link_node, Disconnected{worker_node(1)});
  it.finish(0, {0, 8});
  EXPECT_THAT(it.sent<Parameters>(), IsEmpty());
}

TEST(Shard, WithAClipBarrierNothingIsAppliedBeforeCommit) {
  ShardCase it(shard_job());
  it.load();
  it.open(0, {0, 8}, true);
  for (std::uint32_t slice = 0; slice < 3; ++slice) {
    EXPECT_THAT(it.sent<Covered>(), IsEmpty());
    it.deliver(worker_node(1), it.push(0, {0, 8}, slice));
  }
  ASSERT_EQ(it.sent<Covered>().size(), 1U);
  EXPECT_EQ(it.sent<Covered>()[0].squares.size(), 3U);
  EXPECT_EQ(it.shard.version(), 0U);
  it.deliver(worker_node(1), it.push(0, {0, 8}, 0));
  EXPECT_EQ(it.shard.counts().repeated, 1U);

  it.deliver(scheduler_node, SchedulerBeat{it.term});
  EXPECT_EQ(it.sent<Covered>().size(), 1U) << "resent, since it may have been lost";
  it.wake(1);
  EXPECT_TRUE(it.sent<ShardBeat>()[0].covered);

  it.deliver(scheduler_node, Commit{it.term + 1, 0, 1});
  it.deliver(scheduler_node, Commit{it.term, 1, 1});
  EXPECT_EQ(it.shard.version(), 0U);
  it.deliver(scheduler_node, Commit{it.term, 0, 1});
  ASSERT_EQ(it.sent<Closed>().size(), 1U);
  test::PlainLoop plain(it.job);
  plain.round({0, 8});
  EXPECT_EQ(it.parameters(), plain.parameters);
  it.deliver(scheduler_node, Commit{it.term, 0, 1});
  EXPECT_EQ(it.shard.version(), 1U) << "a repeated Commit is ignored";
}

TEST(Shard, NonFiniteGradientsAreReportedAndNotAdded) {
  ShardCase it(shard_job());
  it.load();
  it.open(0, {0, 8});
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Push push = it.push(0, {0, 8}, 1);
    push.piece.id = 42;
    push.values = ShardCase::constant(4, bad);
    it.deliver(worker_node(7), push);
    ASSERT_EQ(it.sent<GradientRejected>().size(), 1U);
    const GradientRejected rejected = it.sent<GradientRejected>()[0];
    EXPECT_EQ(std::tie(rejected.piece.id, rejected.slice, rejected.worker),
              std::make_tuple(42U, 1U, worker_node(7)));
  }
  EXPECT_EQ(it.shard.counts().refused, 2U);
  it.finish(0, {0, 8});
  EXPECT_EQ(it.shard.version(), 1U) << "a later correct push counts";
}

TEST(Shard, AShardWithoutSlicesClosesAtOnce) {
  Job job = shard_job(4, 4);
  job.shards = 2;
  ShardCase it(job, 0);
  ASSERT_TRUE(it.shard.slices().empty());
  EXPECT_TRUE(it.shard.loaded());
  it.open(0, {0, 8}, true);
  EXPECT_THAT(it.sent<Covered>(), IsEmpty()) << "it has no norms to report";
  ASSERT_EQ(it.sent<Closed>().size(), 1U);
  EXPECT_EQ(it.sent<Closed>()[0].version, 1U);
  it.open(1, {8, 16});
  EXPECT_EQ(it.sent<Closed>()[0].version, 2U);
  it.deliver(worker_node(1), Pull{it.term, 1});
  it.deliver(test::checkpointer_node, it.fetch(2));
  EXPECT_THAT(it.output, IsEmpty());
}

TEST(Shard, EndsOnStopRefusalSilenceAndInterrupt) {
  ShardCase stopped(shard_job());
  stopped.deliver(scheduler_node, Stop{Outcome::storage, "full"});
  EXPECT_EQ(stopped.sent<Goodbye>().size(), 1U);
  EXPECT_TRUE(stopped.shard.finished());
  EXPECT_EQ(stopped.shard.exit_reason().stop().text, "full");
  EXPECT_EQ(stopped.shard.deadline(), Time::max());

  Shard refused({test::shard_node, {}, {}});
  Outbox out(test::shard_node);
  refused.step(
      {},
      {scheduler_node, test::shard_node, Message(std::in_place_type<ToShard>, Refuse{Refusal::full, "no"})},
      out);
  EXPECT_TRUE(refused.finished());
  EXPECT_EQ(refused.exit_reason().refusal()->text, "no");

  ShardCase silent(shard_job());
  silent.wake(59.9);
  EXPECT_FALSE(silent.shard.finished());
  silent.wake(0.2);
  EXPECT_TRUE(silent.shard.exit_reason().unreachable());

  ShardCase interrupted(shard_job());
  interrupted.deliver(link_node, Interrupt{});
  EXPECT_EQ(interrupted.sent<Goodbye>().size(), 1U);
  EXPECT_FALSE(interrupted.shard.finished()) << "the scheduler saves a checkpoint first";

  ShardCase version_mismatch(shard_job());
  version_mismatch.deliver(worker_node(1), VersionMismatch{9});
  EXPECT_FALSE(version_mismatch.shard.finished());
  version_mismatch.deliver(scheduler_node, VersionMismatch{9});
  EXPECT_TRUE(version_mismatch.shard.finished());
  EXPECT_THAT(version_mismatch.shard.exit_reason().refusal()->text, HasSubstr("protocol 9"));
}

}  // namespace
}  // namespace steelyard::shard_test
