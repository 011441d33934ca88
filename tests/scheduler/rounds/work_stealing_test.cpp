// Which work is handed over, and where pieces may be cut.
#include "scheduler/rounds/work_stealing.h"

#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "tests/support/toy_job.h"

namespace steelyard::work_stealing_test {
namespace {

Time at(double seconds) { return Time{} + from_seconds(seconds); }

// Workers ann, ben and carl in slots 0, 1 and 2, and a round of 240 positions: pieces 1, 2 and 3 of 80 each.
class WorkStealingTest : public ::testing::Test {
 protected:
  explicit WorkStealingTest(std::uint32_t grain = 1) : job(test::toy_job(240, 240, 1, 3, 1)) {
    job.grain = grain;
    job.sync = parse_sync("flexrr");
    for (const char* name : {"ann", "ben", "carl"}) {
      WorkerMember worker;
      worker.slot = static_cast<std::uint32_t>(members.workers.size());
      worker.node = {Role::worker, worker.slot + 1};
      worker.name = name;
      worker.ready = true;
      members.add(worker);
    }
    planner.emplace(job, Progress{}, balancing::make_policy("equal"), members);
    work_stealing.emplace(job, members, *planner);
    for (std::uint32_t slot = 0; slot < 3; ++slot)
      round.add(slot + 1, {{80 * slot, 80 * slot + 80}, slot, false, at(1)});
    work_stealing->begin(round);
  }
  bool progress(PieceId id, std::uint64_t done, double when = 2, std::uint64_t micro_batch = 8) {
    return WorkStealing::told(at(when), *round.find(id), {1, id, done, micro_batch});
  }
  void report(PieceId id, double when = 2, double seconds = 1) {
    const OwedPiece& piece = *round.find(id);
    Report report;
    report.piece.positions = piece.positions;
    report.seconds = seconds;
    work_stealing->observe(*piece.owner, report);
    round.report(id, report, at(when));
  }
  // "2 at 120 for 0", or "-".
  std::string next(double when = 2) {
    const auto ask = work_stealing->next(at(when), round);
    if (!ask) return "-";
    return std::to_string(ask->piece) + " at " + std::to_string(ask->cut.end) + " for " +
           std::to_string(ask->cut.helper);
  }

  Job job;
  Members members;
  std::optional<Planner> planner;
  std::optional<WorkStealing> work_stealing;
  RoundState round{BeginRound{1, 0, 0, {0, 240}, 240, false, false}, Purpose::train, at(1)};
};

// Ben has 60 of 80 left, which is 0.75: he hands over half of it, 30, in whole micro-batches of his.
TEST_F(WorkStealingTest, HalfOfTheRestIsHandedOverInWholeMicroBatches) {
  EXPECT_EQ(next(), "-") << "no progress was reported";
  report(1);
  EXPECT_EQ(next(), "-") << "no piece is known to have begun";
  progress(2, 20);
  progress(3, 72);
  EXPECT_EQ(next(), "2 at 136 for 0") << "80 + 50, rounded up to a micro-batch";
}

TEST_F(WorkStealingTest, AWorkerWithAnOpenCutIsLeftAlone) {
  report(1);
  progress(2, 8);
  progress(3, 8);
  ASSERT_EQ(next(), "2 at 128 for 0");
  round.find(2)->cut = {{128, 0, at(2)}};
  EXPECT_EQ(next(), "-") << "ann will help ben";
  progress(3, 64);
  EXPECT_EQ(next(), "-") << "carl could, but ben was asked already";
  round.shorten(2, 128);
  round.add(4, {{128, 160}, 0, false, at(2)});
  EXPECT_EQ(next(), "2 at 120 for 2") << "ann has not begun it; carl may help, with a micro-batch";
  round.find(2)->cut = {{120, 2, at(2)}};
  progress(4, 0);
  EXPECT_EQ(next(), "-") << "ann has enough to do now";
}

TEST_F(WorkStealingTest, AnAbsentWorkerIsNoHelper) {
  report(1);
  progress(2, 8);
  progress(3, 8);
  members.workers.at(0).present = false;
  EXPECT_EQ(next(), "-");
}

TEST_F(WorkStealingTest, AHelperGetsNoMoreThanItCanHold) {
  members.workers.at(0).most = 16;
  report(1);
  progress(2, 8);
  progress(3, 72);
  EXPECT_EQ(next(), "2 at 144 for 0");
}

// A piece of two micro-batches that is in the second one has no tail.
TEST_F(WorkStealingTest, NothingIsCutWithinAMicroBatch) {
  report(1);
  progress(3, 72);
  progress(2, 0, 2, 40);
  EXPECT_EQ(next(), "2 at 120 for 0");
  round.find(2)->underway.done = 40;
  EXPECT_EQ(next(), "-");
  round.find(2)->underway = {0, 1'000'000, at(2)};
  EXPECT_EQ(next(), "-") << "it is one micro-batch";
}

// In the last round a position took 0.01 s, so waiting time can be counted in positions.
TEST_F(WorkStealingTest, AFinishedWorkerGainsALeadByWaiting) {
  report(1, 2, 0.8);
  report(3, 2, 0.8);
  Report usual;
  usual.piece.positions = {0, 80};
  usual.seconds = 0.8;
  work_stealing->observe(1, usual);
  progress(2, 64, 2);
  EXPECT_EQ(next(2), "-") << "0.2 behind";
  EXPECT_EQ(next(2.2), "2 at 152 for 0") << "a quarter ahead: ben would have reported an eighth";
}

TEST_F(WorkStealingTest, ReportedProgressIsCheckedAndOnlyGrows) {
  EXPECT_TRUE(progress(1, 0));
  EXPECT_FALSE(progress(1, 0)) << "repeated";
  EXPECT_TRUE(progress(1, 16));
  EXPECT_FALSE(progress(1, 8)) << "late";
  EXPECT_FALSE(progress(1, 81)) << "more than the piece has";
  EXPECT_FALSE(progress(2, 0, 2, 0)) << "no micro-batch is empty";
  report(1);
  EXPECT_FALSE(progress(1, 24)) << "it is done";
}

class WorkStealingOfGrains : public WorkStealingTest {
 protected:
  WorkStealingOfGrains() : WorkStealingTest(20) {}
};

// Whole micro-batches of 8 and whole grains of 20: multiples of 40.
TEST_F(WorkStealingOfGrains, PiecesAreCutBetweenGrains) {
  report(1);
  progress(3, 72);
  progress(2, 8);
  EXPECT_EQ(next(), "2 at 120 for 0");
}

}  // namespace
}  // namespace steelyard::work_stealing_test
