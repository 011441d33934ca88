// The worker, message by message: pull, compute, push, report, and repeat lost messages.
#include "core/error.h"
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(WorkerTest, IsReadyOnceEveryShardHasAnswered) {
  wake(0);
  ASSERT_EQ(sent_of<Hello>().size(), 1U);
  EXPECT_EQ(sent_of<Hello>()[0].name, "ann");
  deliver(scheduler_node, roster());
  EXPECT_THAT(sent, IsEmpty()) << "not before Welcome";
  deliver(scheduler_node, Welcome{term, 0, make_job()});
  deliver(scheduler_node, Welcome{term, 0, make_job()});
  EXPECT_EQ(prepared, 1);
  deliver(scheduler_node, Roster{});
  deliver(scheduler_node, Roster{{{left, "tcp://a", 0, 1}}});
  EXPECT_THAT(sent, IsEmpty()) << "a roster without some slices";
  deliver(scheduler_node, roster());
  EXPECT_EQ(sent_of<Connect>().size(), 2U);
  EXPECT_THAT(receivers(), ElementsAre(left, right));
  EXPECT_EQ(sent_of<Ping>().size(), 2U);
  EXPECT_THAT(sent_of<Ready>(), IsEmpty()) << "it may not reach them";
  deliver(left, Pong{term});
  EXPECT_THAT(sent_of<Ready>(), IsEmpty());
  wake(1);
  EXPECT_THAT(receivers(), ElementsAre(right)) << "pinged again";
  ASSERT_EQ(sent_of<WorkerBeat>().size(), 1U);
  EXPECT_THAT(sent_of<WorkerBeat>()[0].unreached, ElementsAre(right));
  EXPECT_EQ(sent_of<WorkerBeat>()[0].roster, 1U);
  deliver(right, Pong{term});
  EXPECT_EQ(sent_of<Ready>().size(), 1U);
  deliver(scheduler_node, roster());
  EXPECT_EQ(sent_of<Ready>().size(), 1U) << "the first was lost";
  wake(1);
  EXPECT_THAT(sent_of<Ping>(), IsEmpty());
  EXPECT_THAT(sent_of<WorkerBeat>()[0].unreached, IsEmpty());
}

TEST_F(WorkerTest, ReportsWhatComputesUntilItIsReady) {
  computing = "cudnn: conv1";
  join();
  EXPECT_EQ(sent_of<Ready>().at(0).computing, "cudnn: conv1");
  deliver(scheduler_node, roster());
  EXPECT_EQ(sent_of<Ready>().at(0).computing, "cudnn: conv1") << "the first was lost";
  deliver(scheduler_node, start(4, 1, {0, 8}));
  deliver(scheduler_node, roster());
  EXPECT_EQ(sent_of<Ready>().at(0).computing, "") << "the scheduler has it";
}

// The scheduler gives the piece to other workers then.
TEST_F(WorkerTest, AShardThatDoesNotAnswerAPullIsReported) {
  join();
  deliver(scheduler_node, start(4, 1, {0, 8}));
  arrive(4, 0, 1);
  for (int i = 0; i < 3; ++i) wake(1);
  ASSERT_EQ(sent_of<WorkerBeat>().size(), 1U);
  EXPECT_THAT(sent_of<WorkerBeat>()[0].unreached, ElementsAre(right));
  EXPECT_THAT(sent_of<WorkerBeat>()[0].held, ElementsAre(1U));
  EXPECT_EQ(sent_of<Ping>().size(), 1U);
  const std::uint64_t progress = sent_of<WorkerBeat>()[0].progress;
  arrive(4, 1, 1);
  wake(1);
  EXPECT_THAT(sent_of<WorkerBeat>()[0].unreached, IsEmpty());
  EXPECT_GT(sent_of<WorkerBeat>()[0].progress, progress);
  EXPECT_THAT(sent_of<Ready>(), IsEmpty()) << "it was ready all the time";
}

TEST_F(WorkerTest, ComputeProgressCountsAsProgress) {
  join();
  wake(1);
  const std::uint64_t before = sent_of<WorkerBeat>()[0].progress;
  deliver(compute_node, ComputeProgress{1});
  wake(1);
  EXPECT_EQ(sent_of<WorkerBeat>()[0].progress, before + 1);
}

TEST_F(WorkerTest, AFailureOfPrepareIsThrown) {
  Worker broken{{self, {}, {}, [](const Welcome&) { throw Failure(ExitCode::io, "no data"); }}};
  Outbox out(self);
  const Envelope welcome{scheduler_node, self,
                         Message(std::in_place_type<ToWorker>, Welcome{1, 0, make_job()})};
  EXPECT_THROW(broken.step(now, welcome, out), Failure);
}

TEST_F(WorkerTest, AStartBeforeTheParametersPullsThenComputes) {
  join();
  deliver(scheduler_node, start(4, 1, {0, 8}));
  ASSERT_EQ(sent_of<Pull>().size(), 2U);
  EXPECT_EQ(sent_of<Pull>()[0].version, 4U);
  EXPECT_THAT(receivers(), ElementsAre(left, right));
  arrive(4, 0, 1);
  arrive(4, 0, 99);  // repeated: the first one counts
  arrive(3, 1, 99);  // another version
  arrive(4, 2, 3);
  EXPECT_THAT(sent_of<Compute>(), IsEmpty());
  arrive(4, 1, 2);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  const Compute order = sent_of<Compute>()[0];
  EXPECT_EQ(std::tie(order.piece.round, order.piece.id, order.piece.positions),
            std::make_tuple(4U, 1U, Interval{0, 8}));
  const std::span<const float> values = order.parameters.floats();
  EXPECT_THAT(std::vector<float>(values.begin(), values.end()), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 3, 3));
  EXPECT_EQ(worker.version(), 4U);
}

TEST_F(WorkerTest, AStartAfterTheParametersComputesAtOnce) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  computed(0, 1, {0, 8});
  EXPECT_EQ(sent_of<Pull>().size(), 2U)
      << "the next version will exist: it is pulled before its Start arrives";
  arrive_all(1);
  EXPECT_THAT(sent_of<Compute>(), IsEmpty());
  deliver(scheduler_node, start(1, 2, {8, 16}));
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].parameters.floats()[0], 1.0F);
}

TEST_F(WorkerTest, InvalidParametersAreIgnored) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  deliver(left, Parameters{term, 0, 0, Blob::copy_of(std::vector<float>(5, 1.0F))});
  deliver(left, Parameters{term, 0, 3, Blob::copy_of(std::vector<float>(4, 1.0F))});
  deliver(left, Parameters{term + 1, 0, 0, Blob::copy_of(std::vector<float>(4, 1.0F))});
  arrive(0, 1, 0);
  arrive(0, 2, 0);
  EXPECT_FALSE(worker.version());
  arrive(0, 0, 0);
  EXPECT_EQ(worker.version(), 0U);
}

TEST_F(WorkerTest, PushesSlicesAsTheyAreFinalThenReports) {
  join();
  deliver(scheduler_node, start(0, 5, {2, 8}));
  arrive_all(0);
  final(0, 5, 2);
  ASSERT_EQ(sent_of<Push>().size(), 1U);
  EXPECT_THAT(receivers(), ElementsAre(right));
  const Push push = sent_of<Push>()[0];
  EXPECT_EQ(
      std::tie(push.term, push.piece.round, push.piece.id, push.piece.positions, push.weight, push.slice),
      std::make_tuple(term, 0U, 5U, Interval{2, 8}, 6.0, 2U));
  final(0, 5, 0);
  EXPECT_THAT(receivers(), ElementsAre(left));
  final(0, 5, 3);
  final(0, 6, 0);
  EXPECT_THAT(sent, IsEmpty()) << "no such slice, no such piece";
  computed(0, 5, {2, 8});
  ASSERT_EQ(sent_of<Report>().size(), 1U);
  EXPECT_EQ(sent_of<Report>()[0].term, term) << "the compute node does not know it";
}

// So that the next round is planned with a recent reading; not while the worker owes a piece, whose report
// will bring one.
TEST_F(WorkerTest, TheFirstReadingAfterAReportIsSentAtOnce) {
  join();
  deliver(compute_node, MachineReading{0.9, 100});
  EXPECT_THAT(sent, IsEmpty()) << "nothing was reported";
  deliver(scheduler_node, start(0, 5, {2, 8}));
  arrive_all(0);
  deliver(compute_node, Computed{Report{.piece = {5, 0, Purpose::train, 0, {2, 8}}, .now = {0.8, 100}}});
  EXPECT_EQ(sent_of<Report>().at(0).now.cpu, 0.8);
  deliver(compute_node, MachineReading{0.3, 90});
  ASSERT_EQ(sent_of<WorkerBeat>().size(), 1U);
  EXPECT_EQ(sent_of<WorkerBeat>()[0].now.cpu, 0.3);
  EXPECT_EQ(sent_of<WorkerBeat>()[0].now.memory, 90);
  deliver(compute_node, MachineReading{0.4, 90});
  EXPECT_THAT(sent, IsEmpty()) << "later readings go with heartbeats";
  wake(10);
  EXPECT_EQ(sent_of<WorkerBeat>().at(0).now.cpu, 0.4);
}

TEST_F(WorkerTest, AWorkerThatOwesAPieceSendsNoReading) {
  join();
  deliver(scheduler_node, start(0, 5, {2, 8}));
  arrive_all(0);
  computed(0, 5, {2, 8});
  deliver(scheduler_node, start(1, 6, {2, 8}));
  deliver(compute_node, MachineReading{0.3, 90});
  EXPECT_THAT(sent_of<WorkerBeat>(), IsEmpty());
}

TEST_F(WorkerTest, ARepeatedStartRepeatsTheReport) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  deliver(scheduler_node, start(0, 1, {0, 8}));
  EXPECT_THAT(sent, IsEmpty()) << "it is being computed";
  computed(0, 1, {0, 8});
  deliver(scheduler_node, start(0, 1, {0, 8}));
  ASSERT_EQ(sent_of<Report>().size(), 1U);
  EXPECT_THAT(sent_of<Compute>(), IsEmpty());
}

TEST_F(WorkerTest, PiecesOfOneRoundAreComputedInSequence) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  deliver(scheduler_node, start(0, 2, {8, 16}));
  arrive_all(0);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.id, 1U);
  computed(0, 1, {0, 8});
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.id, 2U);
  wake(1);
  EXPECT_THAT(sent_of<WorkerBeat>().at(0).held, ElementsAre(2)) << "received and not reported";
}

// A lost worker's piece of an older round arrives while the next version is being pulled: others wait for it.
TEST_F(WorkerTest, AnOlderPieceGoesFirst) {
  join();
  deliver(scheduler_node, start(5, 9, {0, 8}));
  EXPECT_EQ(sent_of<Pull>()[0].version, 5U);
  deliver(scheduler_node, start(4, 10, {40, 48}));
  ASSERT_EQ(sent_of<Pull>().size(), 2U);
  EXPECT_EQ(sent_of<Pull>()[0].version, 4U);
  arrive_all(4);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.id, 10U);
  EXPECT_EQ(sent_of<Pull>()[0].version, 5U) << "meanwhile the next version is pulled";
}

TEST_F(WorkerTest, MorePiecesOfARoundAreComputedDuringThePull) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  computed(0, 1, {0, 8});
  deliver(scheduler_node, start(0, 2, {8, 16}));
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.round, 0U);
}

TEST_F(WorkerTest, ANewVersionAbandonsOldPieces) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  deliver(scheduler_node, start(1, 2, {8, 16}));
  arrive_all(0);  // piece 1 is being computed; meanwhile others have done it
  arrive_all(1);
  ASSERT_EQ(sent_of<Abandon>().size(), 1U);
  EXPECT_EQ(sent_of<Abandon>()[0].before, 1U);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.id, 2U);
  final(0, 1, 0);
  EXPECT_THAT(sent, IsEmpty()) << "a gradient that is no longer needed";
  computed(0, 1, {0, 8});
  EXPECT_THAT(sent_of<Report>(), IsEmpty());
  deliver(scheduler_node, start(0, 3, {0, 4}));
  EXPECT_THAT(sent, IsEmpty()) << "a piece of a round that is over";
}

// The servers may answer its last push sooner than the compute node reports its loss and time.
TEST_F(WorkerTest, ANewVersionLeavesAPieceThatIsPushedWhole) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  deliver(scheduler_node, start(1, 2, {8, 16}));
  arrive_all(0);
  for (std::uint32_t slice = 0; slice < 3; ++slice) final(0, 1, slice);
  arrive_all(1);
  EXPECT_THAT(sent_of<Abandon>(), IsEmpty());
  EXPECT_THAT(sent_of<Compute>(), IsEmpty());
  computed(0, 1, {0, 8});
  ASSERT_EQ(sent_of<Report>().size(), 1U);
  EXPECT_EQ(sent_of<Report>()[0].piece.id, 1U);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.id, 2U);
  deliver(left, Disconnected{left});
  EXPECT_THAT(sent_of<Push>(), IsEmpty()) << "the version contains them";
}

TEST_F(WorkerTest, ResendRepeatsThePushesOfAPiece) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  for (const std::uint32_t slice : {0U, 1U, 2U}) final(0, 1, slice);
  computed(0, 1, {0, 8});
  deliver(scheduler_node, Resend{term, 0, {0, 8}});
  EXPECT_EQ(sent_of<Push>().size(), 3U);
  deliver(scheduler_node, Resend{term, 0, {0, 4}});
  deliver(scheduler_node, Resend{term, 1, {0, 8}});
  deliver(scheduler_node, Resend{term + 1, 0, {0, 8}});
  EXPECT_THAT(sent, IsEmpty());
  arrive_all(1);
  deliver(scheduler_node, Resend{term, 0, {0, 8}});
  EXPECT_THAT(sent, IsEmpty()) << "version 1 is here, so every slice had it";
}

TEST_F(WorkerTest, ADisconnectRepeatsMessagesToThatShardOnly) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  for (const std::uint32_t slice : {0U, 1U, 2U}) final(0, 1, slice);
  computed(0, 1, {0, 8});
  arrive(1, 0, 1);
  deliver(link_node, Disconnected{right});
  EXPECT_EQ(sent_of<Push>().size(), 2U);
  EXPECT_THAT(receivers(), UnorderedElementsAre(right, right, right)) << "two pushes and the pull";
  EXPECT_EQ(sent_of<Pull>().size(), 1U);
}

TEST_F(WorkerTest, LosingTheSchedulerRepeatsReportsAndHeartbeat) {
  deliver(link_node, Disconnected{scheduler_node});
  EXPECT_THAT(sent, IsEmpty()) << "it has not joined yet";
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  deliver(scheduler_node, start(0, 2, {8, 16}));
  arrive_all(0);
  computed(0, 1, {0, 8});
  deliver(link_node, Disconnected{scheduler_node});
  ASSERT_EQ(sent_of<Report>().size(), 1U);
  EXPECT_EQ(sent_of<Report>()[0].piece.id, 1U);
  ASSERT_EQ(sent_of<WorkerBeat>().size(), 1U);
  EXPECT_THAT(sent_of<WorkerBeat>()[0].held, ElementsAre(2));
}

// Only the answer of that shard was lost.
TEST_F(WorkerTest, ADisconnectRepeatsNoPullToOtherShards) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  deliver(link_node, Disconnected{left});
  EXPECT_EQ(sent_of<Pull>().size(), 1U);
  EXPECT_THAT(receivers(), ElementsAre(left));
}

// Slices that take longer than a second each: the answer is on its way, and another pull would double it.
TEST_F(WorkerTest, NoPullIsRepeatedWhileSlicesArrive) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  for (const std::uint32_t slice : {0U, 1U, 2U}) {
    wake(0.9);
    EXPECT_THAT(sent_of<Pull>(), IsEmpty());
    arrive(0, slice, 0);
  }
  computed(0, 1, {0, 8});
  deliver(scheduler_node, start(1, 2, {0, 8}));
  wake(5.3);
  EXPECT_THAT(sent_of<Pull>(), IsEmpty()) << "twice the time of the version before";
  deliver(scheduler_node, SchedulerBeat{term});
  wake(0.5);
  EXPECT_EQ(sent_of<Pull>().size(), 2U);
}

TEST_F(WorkerTest, AnUnansweredPullIsRepeated) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive(0, 0, 0);
  wake(0.5);
  EXPECT_THAT(sent_of<Pull>(), IsEmpty());
  wake(0.6);
  ASSERT_EQ(sent_of<Pull>().size(), 1U) << "only of the shard that owes something";
  EXPECT_EQ(sent.back().to, right);
}

TEST_F(WorkerTest, PiecesOfExpiredVersionsAreDropped) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  deliver(right, VersionExpired{7, 9});
  wake(0.1);
  EXPECT_THAT(sent_of<WorkerBeat>().at(0).held, ElementsAre(1)) << "not the version that it waits for";
  deliver(right, VersionExpired{0, 2});
  deliver(scheduler_node, start(2, 2, {8, 16}));
  ASSERT_FALSE(sent_of<Pull>().empty());
  EXPECT_EQ(sent_of<Pull>()[0].version, 2U);
  wake(1);
  EXPECT_THAT(sent_of<WorkerBeat>().at(0).held, ElementsAre(2));
}

TEST_F(WorkerTest, AnExpiredVersionKeepsPiecesOfLaterRounds) {
  join();
  deliver(scheduler_node, start(2, 1, {0, 8}));
  deliver(scheduler_node, start(1, 2, {8, 16}));  // an older piece, issued again
  EXPECT_EQ(sent_of<Pull>().at(0).version, 1U);
  deliver(right, VersionExpired{1, 2});
  ASSERT_EQ(sent_of<Pull>().size(), 2U);
  EXPECT_EQ(sent_of<Pull>()[0].version, 2U);
  arrive_all(2);
  EXPECT_EQ(sent_of<Compute>().size(), 1U);
}

TEST_F(WorkerTest, AnEvaluationPushesNothingAndPullsNothingNew) {
  join();
  deliver(scheduler_node, start(3, 1, {0, 8}, Purpose::evaluate));
  arrive_all(3);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.purpose, Purpose::evaluate);
  computed(3, 1, {0, 8}, Purpose::evaluate);
  EXPECT_EQ(sent_of<Report>().size(), 1U);
  EXPECT_THAT(sent_of<Pull>(), IsEmpty()) << "no version follows from it";
  deliver(scheduler_node, start(3, 2, {8, 16}));
  EXPECT_EQ(sent_of<Compute>().size(), 1U) << "the round of that version";
}

TEST_F(WorkerTest, InvalidStartsAreIgnored) {
  wake(0);
  deliver(scheduler_node, Welcome{term, 0, make_job()});
  deliver(scheduler_node, start(0, 1, {0, 8}));
  EXPECT_THAT(sent, IsEmpty()) << "no roster has arrived";
  join();
  Start other = start(0, 1, {0, 8});
  other.term = 4;
  deliver(scheduler_node, other);
  deliver(scheduler_node, start(0, 1, {8, 8}));
  deliver(scheduler_node, start(0, 1, {8, 0}));
  EXPECT_THAT(sent, IsEmpty());
}

TEST_F(WorkerTest, EndsOnStop) {
  join();
  deliver(scheduler_node, Stop{Outcome::finished, "done"});
  EXPECT_EQ(sent_of<Goodbye>().size(), 1U);
  EXPECT_EQ(sent_of<Abandon>().size(), 1U);
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().stop().text, "done");
  EXPECT_EQ(worker.deadline(), Time::max());
  deliver(scheduler_node, start(0, 1, {0, 8}));
  EXPECT_THAT(sent, IsEmpty()) << "it has sent Goodbye";
}

TEST_F(WorkerTest, ARefusalIsTheExitReason) {
  wake(0);
  deliver(scheduler_node, Refuse{Refusal::other_job, "another job"});
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().refusal()->text, "another job");
}

TEST_F(WorkerTest, ASilentSchedulerIsUnreachable) {
  join();
  wake(5);
  deliver(scheduler_node, SchedulerBeat{term});
  wake(59);
  EXPECT_FALSE(worker.finished()) << "longer than heartbeat_timeout, after which the worker counts as lost";
  EXPECT_FALSE(sent_of<WorkerBeat>().empty()) << "heartbeats that readmit it";
  wake(2);
  EXPECT_TRUE(worker.exit_reason().unreachable());
}

TEST_F(WorkerTest, AnotherProtocolVersionEndsItWithARemedy) {
  wake(0);
  deliver(scheduler_node, VersionMismatch{2});
  EXPECT_TRUE(worker.finished());
  EXPECT_THAT(worker.exit_reason().refusal()->text, HasSubstr("same release everywhere"));
}

}  // namespace
}  // namespace steelyard::test::worker_test
