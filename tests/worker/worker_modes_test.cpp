// The worker where pushes are applied at once, and with local steps: every piece from parameters that have
// the ones before in them.
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
    tell(scheduler_node, Welcome{term, 0, job});
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
    tell(slice == 0 ? left : right,
         Parameters{term, version, slice, Blob::copy_of(std::vector<float>(slice == 2 ? 2 : 4, 1.0F)), ticket,
                    steps + slice});
  }
  void do_piece(Round round, PieceId piece, Interval positions) {
    for (const std::uint32_t slice : {2U, 1U, 0U}) final(round, piece, slice);
    computed(round, piece, positions);
  }
};

TEST_F(AtOnceTest, TakesWhatIsNewerThanItAskedFor) {
  join_at_once();
  tell(scheduler_node, start_from(5, 1, {0, 8}, 3));
  ASSERT_EQ(heard<Pull>().size(), 2U);
  EXPECT_EQ(heard<Pull>()[0].version, 3U);
  EXPECT_THAT(heard<Pull>()[0].own, IsEmpty());
  const std::uint64_t ticket = heard<Pull>()[0].ticket;
  answer_one(ticket, 4, 0);
  answer_one(ticket + 1, 9, 1);  // to another question
  answer_one(ticket, 2, 1);      // older than it may be
  answer_one(ticket, 6, 2);
  EXPECT_THAT(heard<Compute>(), IsEmpty());
  answer_one(ticket, 3, 1);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(worker.version(), 3U) << "the lowest of the slices";
}

TEST_F(AtOnceTest, PullsAnewAfterEachPieceAndNamesWhatItPushed) {
  join_at_once();
  tell(scheduler_node, start_from(0, 1, {0, 8}, 0));
  tell(scheduler_node, start_from(1, 2, {32, 40}, 0));
  const std::uint64_t first = 1;
  answer(first, 0, 10);
  EXPECT_EQ(heard<Compute>().size(), 1U);
  final(0, 1, 2);
  ASSERT_EQ(heard<Push>().size(), 1U);
  EXPECT_EQ(heard<Push>()[0].steps, 12U) << "as this slice told it";
  final(0, 1, 1);
  final(0, 1, 0);
  computed(0, 1, {0, 8});
  EXPECT_THAT(heard<Compute>(), IsEmpty()) << "the parameters do not have the first piece in them";
  ASSERT_EQ(heard<Pull>().size(), 2U);
  const Pull pull = heard<Pull>()[0];
  ASSERT_EQ(pull.own.size(), 1U);
  EXPECT_EQ(std::tie(pull.own[0].round, pull.own[0].positions), std::make_tuple(0U, Interval{0, 8}));
  answer(first, 0);
  EXPECT_THAT(heard<Compute>(), IsEmpty()) << "answers that came twice";
  tell(link_node, Disconnected{left});
  EXPECT_EQ(heard<Push>().size(), 1U) << "not acknowledged yet";
  answer(pull.ticket, 0);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.id, 2U);
  tell(link_node, Disconnected{left});
  EXPECT_THAT(heard<Push>(), IsEmpty()) << "the answer was the acknowledgement";
}

TEST_F(AtOnceTest, WithNothingToDoParametersComeAhead) {
  join_at_once();
  tell(scheduler_node, start_from(0, 1, {0, 8}, 0));
  answer(1, 0);
  do_piece(0, 1, {0, 8});
  ASSERT_EQ(heard<Pull>().size(), 2U);
  answer(heard<Pull>()[0].ticket, 0);
  tell(scheduler_node, start_from(1, 2, {32, 40}, 0));
  EXPECT_EQ(heard<Compute>().size(), 1U);
}

// One question and one answer for each piece, whether its Start comes before or after them.
TEST_F(AtOnceTest, APullAheadServesThePieceThatComesMeanwhile) {
  join_at_once();
  std::size_t pulls = 0;
  for (Round round = 0; round < 6; ++round) {
    const Version least = round < 2 ? 0 : round - 2;
    tell(scheduler_node, start_from(round, round + 1, {32 * round, 32 * round + 8}, least));
    pulls += heard<Pull>().size();
    answer(round + 1, least);
    ASSERT_EQ(heard<Compute>().size(), 1U) << "round " << round;
    do_piece(round, round + 1, {32 * round, 32 * round + 8});
    pulls += heard<Pull>().size();
  }
  EXPECT_EQ(pulls, 2U * 7);
}

// The answer waits for the push, and nobody else knows that the push was lost.
TEST_F(AtOnceTest, APullThatIsNotAnsweredSaysAgainWhatItWaitsFor) {
  join_at_once();
  tell(scheduler_node, start_from(0, 1, {0, 8}, 0));
  answer(1, 0);
  do_piece(0, 1, {0, 8});
  const std::uint64_t ticket = heard<Pull>().at(0).ticket;
  answer_one(ticket, 0, 2, 0);
  answer_one(ticket, 0, 1, 0);
  wake(0.1);
  EXPECT_THAT(heard<Push>(), IsEmpty()) << "it may come yet";
  wake(10);
  ASSERT_EQ(heard<Push>().size(), 1U) << "only the slice that has not been answered";
  EXPECT_EQ(heard<Push>()[0].slice, 0U);
  ASSERT_EQ(heard<Pull>().size(), 1U);
  EXPECT_EQ(heard<Pull>()[0].ticket, ticket);
}

// Others pushed a part of what it had pushed, which was dropped, and the rest is for it to do again: were it
// to wait for that, it would wait for itself.
TEST_F(AtOnceTest, WhatIsOwedAgainIsNotWaitedFor) {
  join_at_once();
  tell(scheduler_node, start_from(0, 1, {0, 8}, 0));
  answer(1, 0);
  do_piece(0, 1, {0, 8});
  ASSERT_EQ(heard<Pull>().at(0).own.size(), 1U);
  EXPECT_EQ(heard<Pull>()[0].own[0].positions, (Interval{0, 8}));
  tell(scheduler_node, start_from(0, 2, {4, 8}, 0));
  ASSERT_EQ(heard<Pull>().size(), 2U) << "to both shards, at once";
  ASSERT_EQ(heard<Pull>()[0].own.size(), 1U);
  EXPECT_EQ(heard<Pull>()[0].own[0].positions, (Interval{0, 4}));
  answer(heard<Pull>()[0].ticket, 0);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.id, 2U);
}

TEST_F(AtOnceTest, WhatCameAheadAndIsTooOldIsPulledAgain) {
  join_at_once();
  tell(scheduler_node, start_from(0, 1, {0, 8}, 0));
  answer(1, 0);
  do_piece(0, 1, {0, 8});
  answer(2, 0);
  tell(scheduler_node, start_from(4, 2, {32, 40}, 2));
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_TRUE(heard<Compute>()[0].parameters.empty()) << "only announced";
  ASSERT_EQ(heard<Pull>().size(), 2U);
  EXPECT_EQ(heard<Pull>()[0].version, 2U);
}

// The pull for a later piece may wait for the very piece that comes now.
TEST_F(AtOnceTest, APieceThatNeedsLessIsNotKeptWaiting) {
  join_at_once();
  tell(scheduler_node, start_from(6, 1, {0, 8}, 4));
  EXPECT_EQ(heard<Pull>()[0].version, 4U);
  tell(scheduler_node, start_from(3, 2, {32, 40}, 1));
  ASSERT_EQ(heard<Pull>().size(), 2U);
  EXPECT_EQ(heard<Pull>()[0].version, 1U);
  answer(heard<Pull>()[0].ticket, 3);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.id, 2U);
}

TEST_F(AtOnceTest, AnEvaluationSpendsNothing) {
  join_at_once();
  tell(scheduler_node, start_from(3, 1, {0, 4}, 3, Purpose::evaluate));
  tell(scheduler_node, start_from(3, 2, {4, 8}, 3, Purpose::evaluate));
  answer(1, 3);
  computed(3, 1, {0, 4}, Purpose::evaluate);
  EXPECT_EQ(heard<Compute>().size(), 1U);
  computed(3, 2, {4, 8}, Purpose::evaluate);
  tell(scheduler_node, start_from(3, 3, {0, 8}, 3));
  EXPECT_EQ(heard<Compute>().size(), 1U);
  EXPECT_THAT(heard<Pull>(), IsEmpty());
}

TEST_F(WorkerTest, LocalStepsAreForTheComputeNodeToTake) {
  wake(0);
  Job job = make_job();
  job.sync = parse_sync("local:4:equal");
  tell(scheduler_node, Welcome{term, 0, job});
  reach_shards();
  Start local = start(0, 1, {0, 8});
  local.piece.whole = {0, 32};
  local.piece.local = {4, 2};
  tell(scheduler_node, local);
  ASSERT_EQ(heard<Compute>().size(), 1U) << "announced";
  EXPECT_EQ(heard<Compute>()[0].piece.local, (LocalSteps{4, 2}));
  arrive_all(0);
  ASSERT_EQ(heard<Compute>().size(), 1U);
  EXPECT_EQ(heard<Compute>()[0].piece.whole, (Interval{0, 32}));
  final(0, 1, 2);
  EXPECT_EQ(heard<Push>().at(0).weight, 1.0) << "every piece alike";
}

}  // namespace
}  // namespace steelyard::test::worker_modes_test
