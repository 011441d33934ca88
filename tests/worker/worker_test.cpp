// The worker, message by message: pull, compute, push, report, and say it again when something was lost.
#include "core/error.h"
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(WorkerTest, JoinsPreparesConnectsAndIsReadyOnceEveryShardHasAnswered) {
  wake(0);
  ASSERT_EQ(heard<Hello>().size(), 1U);
  EXPECT_EQ(heard<Hello>()[0].name, "ann");
  tell(scheduler_node, roster());
  EXPECT_THAT(said, IsEmpty()) << "not before it is welcome";
  tell(scheduler_node, Welcome{term, 0, make_job()});
  tell(scheduler_node, Welcome{term, 0, make_job()});
  EXPECT_EQ(prepared, 1);
  tell(scheduler_node, Roster{});
  tell(scheduler_node, Roster{{{left, "tcp://a", 0, 1}}});
  EXPECT_THAT(said, IsEmpty()) << "a roster that leaves slices out";
  tell(scheduler_node, roster());
  EXPECT_EQ(heard<Connect>().size(), 2U);
  EXPECT_THAT(receivers(), ElementsAre(left, right));
  EXPECT_EQ(heard<Ping>().size(), 2U);
  EXPECT_THAT(heard<Ready>(), IsEmpty()) << "it may not reach them";
  tell(left, Pong{term});
  EXPECT_THAT(heard<Ready>(), IsEmpty());
  wake(1);
  EXPECT_THAT(receivers(), ElementsAre(right)) << "asked again";
  ASSERT_EQ(heard<WorkerBeat>().size(), 1U);
  EXPECT_THAT(heard<WorkerBeat>()[0].unreached, ElementsAre(right));
  EXPECT_EQ(heard<WorkerBeat>()[0].roster, 1U);
  tell(right, Pong{term});
  EXPECT_EQ(heard<Ready>().size(), 1U);
  tell(scheduler_node, roster());
  EXPECT_EQ(heard<Ready>().size(), 1U) << "it was lost on the way";
  wake(1);
  EXPECT_THAT(heard<Ping>(), IsEmpty());
  EXPECT_THAT(heard<WorkerBeat>()[0].unreached, IsEmpty());
}

// The scheduler hears of it and gives its piece to others.
TEST_F(WorkerTest, AShardThatDoesNotSendWhatItOwesIsNamedUntilItAnswers) {
  join();
  tell(scheduler_node, start(4, 1, {0, 8}));
  arrive(4, 0, 1);
  for (int i = 0; i < 3; ++i) wake(1);
  ASSERT_EQ(heard<WorkerBeat>().size(), 1U);
  EXPECT_THAT(heard<WorkerBeat>()[0].unreached, ElementsAre(right));
  EXPECT_THAT(heard<WorkerBeat>()[0].held, ElementsAre(1U));
  EXPECT_EQ(heard<Ping>().size(), 1U);
  const std::uint64_t progress = heard<WorkerBeat>()[0].progress;
  arrive(4, 1, 1);
  wake(1);
  EXPECT_THAT(heard<WorkerBeat>()[0].unreached, IsEmpty());
  EXPECT_GT(heard<WorkerBeat>()[0].progress, progress);
  EXPECT_THAT(heard<Ready>(), IsEmpty()) << "it was ready all the time";
}

TEST_F(WorkerTest, WhatTheComputeNodeTellsOfIsProgress) {
  join();
  wake(1);
  const std::uint64_t before = heard<WorkerBeat>()[0].progress;
  tell(compute_node, ComputeProgress{1});
  wake(1);
  EXPECT_EQ(heard<WorkerBeat>()[0].progress, before + 1);
}

TEST_F(WorkerTest, WhatCannotBePreparedIsAFailureOfTheSetUp) {
  Worker broken{{self, {}, {}, [](const Welcome&) { throw Failure(ExitCode::io, "no data"); }}};
  Outbox out(self);
  const Envelope welcome{scheduler_node, self,
                         Message(std::in_place_type<ToWorker>, Welcome{1, 0, make_job()})};
  EXPECT_THROW(broken.step(now, welcome, out), Failure);
}

TEST_F(WorkerTest, AStartBeforeTheParametersPullsThenComputes) {
  join();
  tell(scheduler_node, start(4, 1, {0, 8}));
  ASSERT_EQ(heard<Pull>().size(), 2U);
  EXPECT_EQ(heard<Pull>()[0].version, 4U);
  EXPECT_THAT(receivers(), ElementsAre(left, right));
  arrive(4, 0, 1);
  arrive(4, 0, 99);  // said twice: the first one counts
  arrive(3, 1, 99);  // another version
  arrive(4, 2, 3);
  EXPECT_THAT(heard<Compute>(), IsEmpty());
  arrive(4, 1, 2);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  const Compute order = heard<Compute>()[0];
  EXPECT_EQ(std::tie(order.piece.round, order.piece.id, order.piece.positions),
            std::make_tuple(4U, 1U, Interval{0, 8}));
  const std::span<const float> values = order.parameters.floats();
  EXPECT_THAT(std::vector<float>(values.begin(), values.end()), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 3, 3));
  EXPECT_EQ(worker.version(), 4U);
}

TEST_F(WorkerTest, AStartAfterTheParametersComputesAtOnce) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  computed(0, 1, {0, 8});
  EXPECT_EQ(heard<Pull>().size(), 2U)
      << "the next version is sure to come: it is asked for ahead of its Start";
  arrive_all(1);
  EXPECT_THAT(heard<Compute>(), IsEmpty());
  tell(scheduler_node, start(1, 2, {8, 16}));
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].parameters.floats()[0], 1.0F);
}

TEST_F(WorkerTest, ParametersThatDoNotFitAreNotTaken) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  tell(left, Parameters{term, 0, 0, Blob::copy_of(std::vector<float>(5, 1.0F))});
  tell(left, Parameters{term, 0, 3, Blob::copy_of(std::vector<float>(4, 1.0F))});
  tell(left, Parameters{term + 1, 0, 0, Blob::copy_of(std::vector<float>(4, 1.0F))});
  arrive(0, 1, 0);
  arrive(0, 2, 0);
  EXPECT_FALSE(worker.version());
  arrive(0, 0, 0);
  EXPECT_EQ(worker.version(), 0U);
}

TEST_F(WorkerTest, PushesSlicesAsTheyAreFinalThenReports) {
  join();
  tell(scheduler_node, start(0, 5, {2, 8}));
  arrive_all(0);
  final(0, 5, 2);
  ASSERT_EQ(heard<Push>().size(), 1U);
  EXPECT_THAT(receivers(), ElementsAre(right));
  const Push push = heard<Push>()[0];
  EXPECT_EQ(
      std::tie(push.term, push.piece.round, push.piece.id, push.piece.positions, push.weight, push.slice),
      std::make_tuple(term, 0U, 5U, Interval{2, 8}, 6.0, 2U));
  final(0, 5, 0);
  EXPECT_THAT(receivers(), ElementsAre(left));
  final(0, 5, 3);
  final(0, 6, 0);
  EXPECT_THAT(said, IsEmpty()) << "of no slice, of no piece of mine";
  computed(0, 5, {2, 8});
  ASSERT_EQ(heard<Report>().size(), 1U);
  EXPECT_EQ(heard<Report>()[0].term, term) << "the compute node does not know it";
}

TEST_F(WorkerTest, ARepeatedStartIsAnsweredByTheReportIfThereIsOne) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  tell(scheduler_node, start(0, 1, {0, 8}));
  EXPECT_THAT(said, IsEmpty()) << "it is being computed";
  computed(0, 1, {0, 8});
  tell(scheduler_node, start(0, 1, {0, 8}));
  ASSERT_EQ(heard<Report>().size(), 1U);
  EXPECT_THAT(heard<Compute>(), IsEmpty());
}

TEST_F(WorkerTest, PiecesOfOneRoundAreComputedOneAfterTheOther) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  tell(scheduler_node, start(0, 2, {8, 16}));
  arrive_all(0);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.id, 1U);
  computed(0, 1, {0, 8});
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.id, 2U);
  wake(1);
  EXPECT_THAT(heard<WorkerBeat>().at(0).held, ElementsAre(2)) << "what it knows of and has not reported";
}

// A lost worker's piece of an older round comes while the next version is being pulled: others wait for it.
TEST_F(WorkerTest, AnOlderPieceGoesFirst) {
  join();
  tell(scheduler_node, start(5, 9, {0, 8}));
  EXPECT_EQ(heard<Pull>()[0].version, 5U);
  tell(scheduler_node, start(4, 10, {40, 48}));
  ASSERT_EQ(heard<Pull>().size(), 2U);
  EXPECT_EQ(heard<Pull>()[0].version, 4U);
  arrive_all(4);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.id, 10U);
  EXPECT_EQ(heard<Pull>()[0].version, 5U) << "meanwhile the next version comes";
}

TEST_F(WorkerTest, AnotherPieceOfThisRoundIsComputedWhileTheNextVersionComes) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  computed(0, 1, {0, 8});
  tell(scheduler_node, start(0, 2, {8, 16}));
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.round, 0U);
}

TEST_F(WorkerTest, ANewVersionMakesOldPiecesPointless) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  tell(scheduler_node, start(1, 2, {8, 16}));
  arrive_all(0);  // piece 1 is being computed; meanwhile others have done it
  arrive_all(1);
  ASSERT_EQ(heard<Abandon>().size(), 1U);
  EXPECT_EQ(heard<Abandon>()[0].before, 1U);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.id, 2U);
  final(0, 1, 0);
  EXPECT_THAT(said, IsEmpty()) << "a gradient that nobody waits for";
  computed(0, 1, {0, 8});
  EXPECT_THAT(heard<Report>(), IsEmpty());
  tell(scheduler_node, start(0, 3, {0, 4}));
  EXPECT_THAT(said, IsEmpty()) << "a piece of a round that is over";
}

TEST_F(WorkerTest, AgainPushesThatPieceAgain) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  for (const std::uint32_t slice : {0U, 1U, 2U}) final(0, 1, slice);
  computed(0, 1, {0, 8});
  tell(scheduler_node, Resend{term, 0, {0, 8}});
  EXPECT_EQ(heard<Push>().size(), 3U);
  tell(scheduler_node, Resend{term, 0, {0, 4}});
  tell(scheduler_node, Resend{term, 1, {0, 8}});
  tell(scheduler_node, Resend{term + 1, 0, {0, 8}});
  EXPECT_THAT(said, IsEmpty());
  arrive_all(1);
  tell(scheduler_node, Resend{term, 0, {0, 8}});
  EXPECT_THAT(said, IsEmpty()) << "version 1 is here, so every slice had it";
}

TEST_F(WorkerTest, ABrokenConnectionIsMadeGoodForThatShardAlone) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  for (const std::uint32_t slice : {0U, 1U, 2U}) final(0, 1, slice);
  computed(0, 1, {0, 8});
  arrive(1, 0, 1);
  tell(link_node, Disconnected{right});
  EXPECT_EQ(heard<Push>().size(), 2U);
  EXPECT_THAT(receivers(), UnorderedElementsAre(right, right, right)) << "two pushes and the pull";
  EXPECT_EQ(heard<Pull>().size(), 1U);
}

TEST_F(WorkerTest, WhoLosesTheSchedulerSaysAtOnceWhatItHasDoneAndHolds) {
  tell(link_node, Disconnected{scheduler_node});
  EXPECT_THAT(said, IsEmpty()) << "it has not joined yet";
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  tell(scheduler_node, start(0, 2, {8, 16}));
  arrive_all(0);
  computed(0, 1, {0, 8});
  tell(link_node, Disconnected{scheduler_node});
  ASSERT_EQ(heard<Report>().size(), 1U);
  EXPECT_EQ(heard<Report>()[0].piece.id, 1U);
  ASSERT_EQ(heard<WorkerBeat>().size(), 1U);
  EXPECT_THAT(heard<WorkerBeat>()[0].held, ElementsAre(2));
}

// Only what that shard owes is under way no more.
TEST_F(WorkerTest, ABrokenConnectionIsNoReasonToAskOthers) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  tell(link_node, Disconnected{left});
  EXPECT_EQ(heard<Pull>().size(), 1U);
  EXPECT_THAT(receivers(), ElementsAre(left));
}

// Slices that take longer than a second each: the answer is on its way, and asking again would double it.
TEST_F(WorkerTest, WhileSlicesComeNothingIsAskedAgain) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  for (const std::uint32_t slice : {0U, 1U, 2U}) {
    wake(0.9);
    EXPECT_THAT(heard<Pull>(), IsEmpty());
    arrive(0, slice, 0);
  }
  computed(0, 1, {0, 8});
  tell(scheduler_node, start(1, 2, {0, 8}));
  wake(5.3);
  EXPECT_THAT(heard<Pull>(), IsEmpty()) << "twice what the version before took";
  tell(scheduler_node, SchedulerBeat{term});
  wake(0.5);
  EXPECT_EQ(heard<Pull>().size(), 2U);
}

TEST_F(WorkerTest, AVersionThatDoesNotComeIsAskedForAgain) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  arrive(0, 0, 0);
  wake(0.5);
  EXPECT_THAT(heard<Pull>(), IsEmpty());
  wake(0.6);
  ASSERT_EQ(heard<Pull>().size(), 1U) << "only of the shard that owes something";
  EXPECT_EQ(said.back().to, right);
}

TEST_F(WorkerTest, WhatIsGoneIsGivenUp) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  tell(right, VersionExpired{7, 9});
  wake(0.1);
  EXPECT_THAT(heard<WorkerBeat>().at(0).held, ElementsAre(1)) << "not the version that it waits for";
  tell(right, VersionExpired{0, 2});
  tell(scheduler_node, start(2, 2, {8, 16}));
  ASSERT_FALSE(heard<Pull>().empty());
  EXPECT_EQ(heard<Pull>()[0].version, 2U);
  wake(1);
  EXPECT_THAT(heard<WorkerBeat>().at(0).held, ElementsAre(2));
}

TEST_F(WorkerTest, APieceOfALaterRoundIsNotForgottenWhenAVersionIsGone) {
  join();
  tell(scheduler_node, start(2, 1, {0, 8}));
  tell(scheduler_node, start(1, 2, {8, 16}));  // an older piece, issued again
  EXPECT_EQ(heard<Pull>().at(0).version, 1U);
  tell(right, VersionExpired{1, 2});
  ASSERT_EQ(heard<Pull>().size(), 2U);
  EXPECT_EQ(heard<Pull>()[0].version, 2U);
  arrive_all(2);
  EXPECT_EQ(heard<Compute>().size(), 1U);
}

TEST_F(WorkerTest, AnEvaluationPushesNothingAndPullsNothingNew) {
  join();
  tell(scheduler_node, start(3, 1, {0, 8}, Purpose::evaluate));
  arrive_all(3);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.purpose, Purpose::evaluate);
  computed(3, 1, {0, 8}, Purpose::evaluate);
  EXPECT_EQ(heard<Report>().size(), 1U);
  EXPECT_THAT(heard<Pull>(), IsEmpty()) << "no version follows from it";
  tell(scheduler_node, start(3, 2, {8, 16}));
  EXPECT_EQ(heard<Compute>().size(), 1U) << "the round of that version";
}

TEST_F(WorkerTest, StartsThatMakeNoSenseAreIgnored) {
  wake(0);
  tell(scheduler_node, Welcome{term, 0, make_job()});
  tell(scheduler_node, start(0, 1, {0, 8}));
  EXPECT_THAT(said, IsEmpty()) << "nobody has said where the shards are";
  join();
  Start other = start(0, 1, {0, 8});
  other.term = 4;
  tell(scheduler_node, other);
  tell(scheduler_node, start(0, 1, {8, 8}));
  tell(scheduler_node, start(0, 1, {8, 0}));
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(WorkerTest, EndsOnStopAndInterrupt) {
  join();
  tell(scheduler_node, Stop{Outcome::finished, "done"});
  EXPECT_EQ(heard<Goodbye>().size(), 1U);
  EXPECT_EQ(heard<Abandon>().size(), 1U);
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().stop().text, "done");
  EXPECT_EQ(worker.deadline(), Time::max());
  tell(scheduler_node, start(0, 1, {0, 8}));
  EXPECT_THAT(said, IsEmpty()) << "it has said its last word";
}

TEST_F(WorkerTest, ARefusalIsKeptForPeople) {
  wake(0);
  tell(scheduler_node, Refuse{Refusal::other_job, "another job"});
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().refusal()->text, "another job");
}

TEST_F(WorkerTest, ASchedulerThatIsSilentIsGivenUp) {
  join();
  wake(5);
  tell(scheduler_node, SchedulerBeat{term});
  wake(59);
  EXPECT_FALSE(worker.finished())
      << "longer than heartbeat_timeout, which is when the scheduler calls it lost";
  EXPECT_FALSE(heard<WorkerBeat>().empty()) << "the word that brings it back";
  wake(2);
  EXPECT_TRUE(worker.exit_reason().unreachable());
}

TEST_F(WorkerTest, AnotherProtocolEndsItWithARemedy) {
  wake(0);
  tell(scheduler_node, VersionMismatch{2});
  EXPECT_TRUE(worker.finished());
  EXPECT_THAT(worker.exit_reason().refusal()->text, HasSubstr("same release everywhere"));
}

}  // namespace
}  // namespace steelyard::test::worker_test
