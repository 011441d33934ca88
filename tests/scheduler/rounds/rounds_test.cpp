// Which round begins next, and when a round is done.
#include "scheduler/rounds/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/toy_job.h"

namespace steelyard::rounds_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Time at(double seconds) { return Time{} + from_seconds(seconds); }

template <class Wanted>
bool is(const Rounds::Next& next) {
  return std::holds_alternative<Wanted>(next);
}

// Two rounds an epoch, two epochs, two shards.
class RoundsTest : public ::testing::Test {
 protected:
  RoundsTest() : job(test::toy_job(80, 40, 2, 2, 2)) { job.test_samples = 0; }
  // All of the oldest open round is reported.
  static void report_oldest(Rounds& rounds) {
    RoundState& round = *rounds.oldest_open();
    if (round.pieces().empty()) round.add(1, {round.open().positions, 0});
    round.close_unreported();
  }
  static void finish_oldest(Rounds& rounds, double when) {
    report_oldest(rounds);
    ASSERT_TRUE(is<Rounds::FinishOldest>(rounds.next(at(when), false)));
    rounds.finish(at(when), *rounds.oldest_open());
  }

  Job job;
};

TEST_F(RoundsTest, RoundsFollowOneAnotherUntilAllEpochsAreDone) {
  Rounds rounds(job, {});
  rounds.begin_training(at(1));
  for (Round round = 0; round < 4; ++round) {
    ASSERT_TRUE(is<Rounds::BeginTrainingRound>(rounds.next(at(1), false)));
    RoundState& state = rounds.begin(at(1), false);
    EXPECT_EQ(state.round(), round);
    EXPECT_EQ(state.least(), round) << "it needs all rounds before it";
    state.add(1, {state.open().positions, 0});
    EXPECT_TRUE(is<Rounds::Wait>(rounds.next(at(1), false)));
    EXPECT_FALSE(rounds.may_run_ahead(at(1)));
    finish_oldest(rounds, 2);
  }
  const auto end = rounds.next(at(2), false);
  EXPECT_EQ(std::get<EndJob>(end).outcome, Outcome::finished);
  EXPECT_THAT(std::get<EndJob>(end).text, IsEmpty());
}

// Four rounds, of which two have a barrier.
TEST_F(RoundsTest, UnderSyncSwitchRoundsOverlapAfterTheSwitch) {
  job.sync = parse_sync("sync-switch:50");
  Rounds rounds(job, {});
  rounds.begin_training(at(1));
  for (Round round = 0; round < 2; ++round) {
    RoundState& state = rounds.begin(at(1), false);
    EXPECT_TRUE(state.untaken().empty()) << "the policy divides it";
    EXPECT_EQ(state.least(), round);
    state.add(1, {state.open().positions, 0});
    EXPECT_FALSE(rounds.may_run_ahead(at(1)));
    finish_oldest(rounds, 2);
  }
  RoundState& first = rounds.begin(at(2), false);
  EXPECT_EQ(first.untaken(), first.open().positions) << "workers take pieces";
  EXPECT_EQ(first.least(), 2U);
  first.add(1, {first.take(40, 40), 0});
  EXPECT_TRUE(rounds.may_run_ahead(at(2)));
  EXPECT_EQ(rounds.begin(at(2), false).least(), 2U) << "not older than the last barrier";
}

TEST_F(RoundsTest, AnOpenRoundIsFinishedBeforeARequestedEnd) {
  Rounds rounds(job, {});
  rounds.begin(at(1), false).add(1, {{0, 40}, 0});
  EXPECT_TRUE(is<Rounds::Wait>(rounds.next(at(1), true)));
  finish_oldest(rounds, 2);
  EXPECT_TRUE(is<Rounds::EndAsRequested>(rounds.next(at(2), true)));
}

TEST_F(RoundsTest, AnEvaluationFollowsItsEpochAndLeavesNothingBehind) {
  job.test_samples = 10;
  job.evaluate_every = 1;
  Rounds rounds(job, {});
  for (int i = 0; i < 2; ++i) {
    rounds.begin(at(1), false);
    finish_oldest(rounds, 2);
  }
  ASSERT_TRUE(is<Rounds::BeginEvaluation>(rounds.next(at(2), false)));
  EXPECT_EQ(rounds.begin_evaluation(at(2)).open().positions, (Interval{0, 10}));
  EXPECT_EQ(rounds.training(2), nullptr) << "it is no training round";
  finish_oldest(rounds, 3);
  EXPECT_THAT(rounds.states(), SizeIs(2));
  EXPECT_TRUE(is<Rounds::BeginTrainingRound>(rounds.next(at(3), false)));
}

void add_three_workers(Members& members) {
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    WorkerMember worker;
    worker.slot = slot;
    worker.node = {Role::worker, slot + 1};
    members.add(worker);
  }
}

// Three pieces of a round, of which one is not reported.
RoundState& begin_with_one_late(Rounds& rounds, Interval late) {
  RoundState& round = rounds.begin(at(1), false);
  PieceId id = 0;
  std::uint32_t slot = 0;
  for (const Interval part : {Interval{round.open().positions.begin, late.begin}, late,
                              Interval{late.end, round.open().positions.end}}) {
    round.add(++id, {part, slot++});
    if (part != late) round.report(id, {}, at(1));
  }
  return round;
}

TEST_F(RoundsTest, LatePiecesMoveToTheNextRound) {
  job = test::toy_job(120, 40, 1, 3, 1);
  job.sync = parse_sync("backup:1");
  Members members;
  add_three_workers(members);
  Rounds rounds(job, {});
  rounds.begin_training(at(1));
  RoundState& first = begin_with_one_late(rounds, {10, 20});
  EXPECT_FALSE(first.opened) << "shards receive it once its positions are known";
  ASSERT_TRUE(is<Rounds::OpenOldest>(rounds.next(at(2), false)));
  EXPECT_TRUE(is<Rounds::Wait>(rounds.next(at(2), true))) << "before a requested end nothing is left over";
  first.leave_over(2);
  first.opened = true;
  EXPECT_THAT(first.open().skipped, ElementsAre(Interval{10, 20}));
  ASSERT_TRUE(is<Rounds::FinishOldest>(rounds.next(at(2), false)));
  members.workers.at(0).cpu = 0.5;
  const RoundRecord record = rounds.record(at(2), first, members);
  EXPECT_EQ(record.samples(), 30U);
  EXPECT_EQ(record.parts.at(0).cpu, 0.5) << "as the worker reported it";
  rounds.finish(at(2), first);
  EXPECT_FALSE(rounds.can_be_saved()) << "a position before it is left over";
  const RoundState& second = rounds.begin(at(3), false);
  EXPECT_EQ(second.open().positions, (Interval{10, 70})) << "the positions left over, and thirty new ones";
  EXPECT_THAT(second.open().skipped, ElementsAre(Interval{20, 40}));
  EXPECT_EQ(rounds.done().positions(), (Interval{40, 70}));
}

TEST_F(RoundsTest, NothingIsLeftOverIfTheVersionMustBeComplete) {
  job = test::toy_job(80, 40, 2, 3, 1);
  job.sync = parse_sync("backup:1");
  {
    Rounds saved(job, {});
    saved.begin_training(at(1));
    RoundState& round = saved.begin(at(1), true);
    round.add(1, {{0, 20}, 0});
    round.add(2, {{20, 40}, 1});
    round.report(1, {}, at(1));
    EXPECT_TRUE(is<Rounds::Wait>(saved.next(at(2), false))) << "it is saved";
  }
  Rounds last(job, {1, 1, 0, 40, 0, {}});
  last.begin_training(at(1));
  begin_with_one_late(last, {50, 60});
  EXPECT_TRUE(is<Rounds::Wait>(last.next(at(2), false))) << "the epoch ends";
  job.rounds = 1;
  Rounds only(job, {});
  only.begin_training(at(1));
  begin_with_one_late(only, {10, 20});
  EXPECT_TRUE(is<Rounds::Wait>(only.next(at(2), false))) << "the job ends";
}

TEST_F(RoundsTest, RoundsWithBackupAreWholeGrains) {
  job = test::toy_job(120, 40, 1, 3, 1);
  job.sync = parse_sync("backup:1");
  job.grain = 16;
  Rounds rounds(job, {});
  EXPECT_EQ(rounds.ahead().positions(), (Interval{0, 32}));
  EXPECT_EQ(rounds.begin(at(1), false).open().positions, (Interval{0, 32}));
}

// The scheduler asks before the next round begins whether a checkpoint is due after it.
TEST_F(RoundsTest, WithBackupTheNextRoundIsKnownBeforeItBegins) {
  job = test::toy_job(165, 60, 1, 3, 1);
  job.sync = parse_sync("backup:1");
  job.checkpoint_every = 1;
  Rounds rounds(job, {});
  rounds.begin_training(at(1));
  const auto one_with_ten_late = [&](Interval late) {
    RoundState& round = begin_with_one_late(rounds, late);
    round.leave_over(2);
    round.opened = true;
    rounds.finish(at(2), round);
  };
  one_with_ten_late({20, 30});
  RoundState& second = rounds.begin(at(2), rounds.ahead().saves_after_next());
  EXPECT_EQ(second.open().positions, (Interval{20, 110}));
  second.close_unreported();
  rounds.finish(at(3), second);
  EXPECT_TRUE(rounds.ahead().saves_after_next()) << "sixty positions from 110 on end the epoch";
  EXPECT_TRUE(rounds.done().saves_after_next());
  EXPECT_TRUE(rounds.begin(at(3), true).open().save);
}

TEST_F(RoundsTest, WithSlackRoundsRunAheadButNotPastABarrier) {
  job.sync = parse_sync("ssp:2");
  Rounds rounds(job, {});
  rounds.begin(at(1), false);
  EXPECT_TRUE(rounds.may_run_ahead(at(1)));
  rounds.begin(at(1), true);
  EXPECT_FALSE(rounds.may_run_ahead(at(1))) << "the version after this round is saved";
  finish_oldest(rounds, 2);
  finish_oldest(rounds, 2);
  EXPECT_EQ(rounds.begin(at(2), false).least(), 2U) << "nothing older than what was saved";
  rounds.begin(at(2), false);
  EXPECT_FALSE(rounds.may_run_ahead(at(2))) << "all epochs have begun";
}

TEST_F(RoundsTest, NoRoundRunsFurtherAheadThanTheSlack) {
  job.sync = parse_sync("ssp:1");
  job.epochs = 10;
  Rounds rounds(job, {});
  rounds.begin(at(1), false);
  ASSERT_TRUE(rounds.may_run_ahead(at(1)));
  rounds.begin(at(1), false);
  EXPECT_FALSE(rounds.may_run_ahead(at(1)));
  finish_oldest(rounds, 2);
  EXPECT_TRUE(rounds.may_run_ahead(at(2)));
}

TEST_F(RoundsTest, DoneRoundsThatAllShardsClosedAreForgotten) {
  Rounds rounds(job, {});
  rounds.begin(at(1), false);
  finish_oldest(rounds, 2);
  rounds.begin(at(2), false);
  EXPECT_TRUE(rounds.any_unclosed_below(1));
  EXPECT_THAT(rounds.confirm(at(3), 1, false, from_seconds(1)), IsEmpty())
      << "the time of the last push is unknown";
  EXPECT_THAT(rounds.states(), SizeIs(1));
  EXPECT_FALSE(rounds.any_unclosed_below(1));
  EXPECT_EQ(rounds.states().front().possible, at(3));
}

TEST_F(RoundsTest, AClosedRoundWaitsForReportsUntilTheTimeout) {
  Rounds rounds(job, {});
  rounds.begin(at(1), false).add(1, {{0, 40}, 0});
  rounds.confirm(at(2), 1, false, from_seconds(1));
  EXPECT_FALSE(rounds.states().front().reported()) << "they may still come";
  rounds.confirm(at(3.1), 1, false, from_seconds(1));
  EXPECT_TRUE(rounds.states().front().reported());
}

// Members could not report while the scheduler was down.
TEST_F(RoundsTest, ARestartRenewsTheTimeoutOfReports) {
  Rounds rounds(job, {});
  rounds.begin(at(1), false).add(1, {{0, 40}, 0});
  rounds.confirm(at(2), 1, false, from_seconds(1));
  rounds.restarted(at(100));
  rounds.confirm(at(100.5), 1, false, from_seconds(1));
  EXPECT_FALSE(rounds.states().front().reported());
  rounds.confirm(at(101.1), 1, false, from_seconds(1));
  EXPECT_TRUE(rounds.states().front().reported());
}

TEST_F(RoundsTest, ClosingReturnsTheTimeOfTheLastPush) {
  Rounds rounds(job, {});
  RoundState& round = rounds.begin(at(1), false);
  round.add(1, {{0, 40}, 0});
  round.report(1, Report{}, at(2));
  EXPECT_THAT(rounds.confirm(at(5), 1, false, from_seconds(1)), ElementsAre(from_seconds(3)));
  EXPECT_THAT(rounds.confirm(at(6), 1, false, from_seconds(1)), IsEmpty()) << "returned once";
}

TEST_F(RoundsTest, TheClipBarrierOpensWhenAllShardsAreCovered) {
  job.clip_norm = 1;
  Rounds rounds(job, {});
  RoundState& round = rounds.begin(at(1), false);
  EXPECT_TRUE(round.open().clip_barrier);
  EXPECT_TRUE(std::holds_alternative<Rounds::Uncovered>(rounds.cover(round, 0, {9})));
  const auto all = rounds.cover(round, 1, {7, 9});
  EXPECT_DOUBLE_EQ(std::get<Rounds::CommitAll>(all).scale, 1.0 / 5);
  const auto again = rounds.cover(round, 1, {7, 9});
  EXPECT_DOUBLE_EQ(std::get<Rounds::CommitAgain>(again).scale, 1.0 / 5);
}

TEST_F(RoundsTest, ANonFiniteNormEndsTheJob) {
  job.clip_norm = 1;
  Rounds rounds(job, {});
  RoundState& round = rounds.begin(at(1), false);
  rounds.cover(round, 0, {1});
  EXPECT_EQ(std::get<EndJob>(rounds.cover(round, 1, {INFINITY})).outcome, Outcome::non_finite);
}

TEST_F(RoundsTest, SecondsBeforeAResumeCount) {
  Progress from;
  from.seconds = 100;
  Rounds rounds(job, from);
  EXPECT_EQ(rounds.trained_seconds(at(50)), 100);
  rounds.begin_training(at(50));
  EXPECT_EQ(rounds.trained_seconds(at(52)), 102);
}

}  // namespace
}  // namespace steelyard::rounds_test
