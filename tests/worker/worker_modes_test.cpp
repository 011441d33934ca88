// The worker if pushes are applied at once, and with local steps: each piece is computed from parameters that
// include the pieces before it.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_modes_test {
namespace {

using ::testing::IsEmpty;

class AtOnceTest : public WorkerTest {
 protected:
  void join_at_once() {
    wake(0);
    Job job = make_job();
    job.sync = parse_sync("ssp:2");
    deliver(scheduler_node, Welcome{term, 0, job});
    reach_shards();
  }
  static Start start_from(Round round, PieceId piece, Interval positions, Version least,
                          Purpose purpose = Purpose::train) {
    return {term, {piece, round, purpose, 0, positions, positions}, least};
  }
  // An answer to the pull of this ticket, from all slices.
  void answer(std::uint64_t ticket, Version version, std::uint64_t steps = 0) {
    for (std::uint32_t slice = 0; slice < 3; ++slice) answer_one(ticket, version, slice, steps);
  }
  void answer_one(std::uint64_t ticket, Version version, std::uint32_t slice, std::uint64_t steps = 0) {
    deliver(slice == 0 ? left : right,
            Parameters{term, version, slice, Blob::copy_of(std::vector<float>(slice == 2 ? 2 : 4, 1.0F)),
                       ticket, steps + slice});
  }
  void do_piece(Round round, PieceId piece, Interval positions) {
    for (const std::uint32_t slice : {2U, 1U, 0U}) final(round, piece, slice);
    computed(round, piece, positions);
  }
};

TEST_F(AtOnceTest, TakesVersionsNewerThanItPulled) {
  join_at_once();
  deliver(scheduler_node, start_from(5, 1, {0, 8}, 3));
  ASSERT_EQ(sent_of<Pull>().size(), 2U);
  EXPECT_EQ(sent_of<Pull>()[0].version, 3U);
  EXPECT_THAT(sent_of<Pull>()[0].own, IsEmpty());
  const std::uint64_t ticket = sent_of<Pull>()[0].ticket;
  answer_one(ticket, 4, 0);
  answer_one(ticket + 1, 9, 1);  // for another pull
  answer_one(ticket, 2, 1);      // too old
  answer_one(ticket, 6, 2);
  EXPECT_THAT(sent_of<Compute>(), IsEmpty());
  answer_one(ticket, 3, 1);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(worker.version(), 3U) << "the lowest of the slices";
}

TEST_F(AtOnceTest, PullsAfterEachPieceAndNamesItsPushes) {
  join_at_once();
  deliver(scheduler_node, start_from(0, 1, {0, 8}, 0));
  deliver(scheduler_node, start_from(1, 2, {32, 40}, 0));
  const std::uint64_t first = 1;
  answer(first, 0, 10);
  EXPECT_EQ(sent_of<Compute>().size(), 1U);
  final(0, 1, 2);
  ASSERT_EQ(sent_of<Push>().size(), 1U);
  EXPECT_EQ(sent_of<Push>()[0].steps, 12U) << "as this slice reported it";
  final(0, 1, 1);
  final(0, 1, 0);
  computed(0, 1, {0, 8});
  EXPECT_THAT(sent_of<Compute>(), IsEmpty()) << "the parameters do not include the first piece";
  ASSERT_EQ(sent_of<Pull>().size(), 2U);
  const Pull pull = sent_of<Pull>()[0];
  ASSERT_EQ(pull.own.size(), 1U);
  EXPECT_EQ(std::tie(pull.own[0].round, pull.own[0].positions), std::make_tuple(0U, Interval{0, 8}));
  answer(first, 0);
  EXPECT_THAT(sent_of<Compute>(), IsEmpty()) << "repeated answers";
  deliver(link_node, Disconnected{left});
  EXPECT_EQ(sent_of<Push>().size(), 1U) << "not acknowledged yet";
  answer(pull.ticket, 0);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.id, 2U);
  deliver(link_node, Disconnected{left});
  EXPECT_THAT(sent_of<Push>(), IsEmpty()) << "the answer was the acknowledgement";
}

TEST_F(AtOnceTest, AnIdleWorkerPullsAhead) {
  join_at_once();
  deliver(scheduler_node, start_from(0, 1, {0, 8}, 0));
  answer(1, 0);
  do_piece(0, 1, {0, 8});
  ASSERT_EQ(sent_of<Pull>().size(), 2U);
  answer(sent_of<Pull>()[0].ticket, 0);
  deliver(scheduler_node, start_from(1, 2, {32, 40}, 0));
  EXPECT_EQ(sent_of<Compute>().size(), 1U);
}

// One pull for each piece, whether its Start arrives before or after the answer.
TEST_F(AtOnceTest, APullAheadServesThePieceThatArrivesMeanwhile) {
  join_at_once();
  std::size_t pulls = 0;
  for (Round round = 0; round < 6; ++round) {
    const Version least = round < 2 ? 0 : round - 2;
    deliver(scheduler_node, start_from(round, round + 1, {32 * round, 32 * round + 8}, least));
    pulls += sent_of<Pull>().size();
    answer(round + 1, least);
    ASSERT_EQ(sent_of<Compute>().size(), 1U) << "round " << round;
    do_piece(round, round + 1, {32 * round, 32 * round + 8});
    pulls += sent_of<Pull>().size();
  }
  EXPECT_EQ(pulls, 2U * 7);
}

// The answer waits for the push, and only the worker can notice that the push was lost.
TEST_F(AtOnceTest, AnUnansweredPullRepeatsThePushesItWaitsFor) {
  join_at_once();
  deliver(scheduler_node, start_from(0, 1, {0, 8}, 0));
  answer(1, 0);
  do_piece(0, 1, {0, 8});
  const std::uint64_t ticket = sent_of<Pull>().at(0).ticket;
  answer_one(ticket, 0, 2, 0);
  answer_one(ticket, 0, 1, 0);
  wake(0.1);
  EXPECT_THAT(sent_of<Push>(), IsEmpty()) << "it may come yet";
  wake(10);
  ASSERT_EQ(sent_of<Push>().size(), 1U) << "only the slice that has not been answered";
  EXPECT_EQ(sent_of<Push>()[0].slice, 0U);
  ASSERT_EQ(sent_of<Pull>().size(), 1U);
  EXPECT_EQ(sent_of<Pull>()[0].ticket, ticket);
}

// Others pushed a part of its piece first, so its push was dropped, and it owes the rest again. If its pull
// waited for that rest, the worker would wait for itself.
TEST_F(AtOnceTest, APullDoesNotWaitForPositionsOwedAgain) {
  join_at_once();
  deliver(scheduler_node, start_from(0, 1, {0, 8}, 0));
  answer(1, 0);
  do_piece(0, 1, {0, 8});
  ASSERT_EQ(sent_of<Pull>().at(0).own.size(), 1U);
  EXPECT_EQ(sent_of<Pull>()[0].own[0].positions, (Interval{0, 8}));
  deliver(scheduler_node, start_from(0, 2, {4, 8}, 0));
  ASSERT_EQ(sent_of<Pull>().size(), 2U) << "to both shards, at once";
  ASSERT_EQ(sent_of<Pull>()[0].own.size(), 1U);
  EXPECT_EQ(sent_of<Pull>()[0].own[0].positions, (Interval{0, 4}));
  answer(sent_of<Pull>()[0].ticket, 0);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.id, 2U);
}

TEST_F(AtOnceTest, ParametersPulledAheadButTooOldArePulledAgain) {
  join_at_once();
  deliver(scheduler_node, start_from(0, 1, {0, 8}, 0));
  answer(1, 0);
  do_piece(0, 1, {0, 8});
  answer(2, 0);
  deliver(scheduler_node, start_from(4, 2, {32, 40}, 2));
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_TRUE(sent_of<Compute>()[0].parameters.empty()) << "only announced";
  ASSERT_EQ(sent_of<Pull>().size(), 2U);
  EXPECT_EQ(sent_of<Pull>()[0].version, 2U);
}

// The pull for a later piece may wait for the push of this piece.
TEST_F(AtOnceTest, AnEarlierPieceDoesNotWaitForALaterPull) {
  join_at_once();
  deliver(scheduler_node, start_from(6, 1, {0, 8}, 4));
  EXPECT_EQ(sent_of<Pull>()[0].version, 4U);
  deliver(scheduler_node, start_from(3, 2, {32, 40}, 1));
  ASSERT_EQ(sent_of<Pull>().size(), 2U);
  EXPECT_EQ(sent_of<Pull>()[0].version, 1U);
  answer(sent_of<Pull>()[0].ticket, 3);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.id, 2U);
}

TEST_F(AtOnceTest, AnEvaluationDoesNotUseUpParameters) {
  join_at_once();
  deliver(scheduler_node, start_from(3, 1, {0, 4}, 3, Purpose::evaluate));
  deliver(scheduler_node, start_from(3, 2, {4, 8}, 3, Purpose::evaluate));
  answer(1, 3);
  computed(3, 1, {0, 4}, Purpose::evaluate);
  EXPECT_EQ(sent_of<Compute>().size(), 1U);
  computed(3, 2, {4, 8}, Purpose::evaluate);
  deliver(scheduler_node, start_from(3, 3, {0, 8}, 3));
  EXPECT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_THAT(sent_of<Pull>(), IsEmpty());
}

TEST_F(WorkerTest, TheComputeNodeTakesTheLocalSteps) {
  wake(0);
  Job job = make_job();
  job.sync = parse_sync("local:4:equal");
  deliver(scheduler_node, Welcome{term, 0, job});
  reach_shards();
  Start local = start(0, 1, {0, 8});
  local.piece.whole = {0, 32};
  local.piece.local = {4, 2};
  deliver(scheduler_node, local);
  ASSERT_EQ(sent_of<Compute>().size(), 1U) << "announced";
  EXPECT_EQ(sent_of<Compute>()[0].piece.local, (LocalSteps{4, 2}));
  arrive_all(0);
  ASSERT_EQ(sent_of<Compute>().size(), 1U);
  EXPECT_EQ(sent_of<Compute>()[0].piece.whole, (Interval{0, 32}));
  final(0, 1, 2);
  EXPECT_EQ(sent_of<Push>().at(0).weight, 1.0) << "all pieces have the same weight";
}

}  // namespace
}  // namespace steelyard::test::worker_modes_test
