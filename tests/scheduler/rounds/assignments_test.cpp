// Which worker owes which piece.
#include "scheduler/rounds/assignments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "balancing/policies.h"
#include "tests/support/toy_job.h"

namespace steelyard::assignments_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Time at(double seconds) { return Time{} + from_seconds(seconds); }

// "0:[0, 20)": the worker in slot 0 is assigned these positions; "again 0:[0, 20)": it is asked to push them
// again; "cut 1 at 8": its owner is asked to end piece 1 there; "remark"; "end".
std::vector<std::string> in_words(const Orders& orders) {
  const auto text = [](std::uint32_t slot, Interval positions) {
    return std::to_string(slot) + ":[" + std::to_string(positions.begin) + ", " +
           std::to_string(positions.end) + ")";
  };
  std::vector<std::string> words;
  for (const Order& order : orders) {
    if (const auto* it = std::get_if<Assign>(&order))
      words.push_back(text(it->slot, it->start.piece.positions));
    if (const auto* it = std::get_if<AskAgain>(&order))
      words.push_back("again " + text(it->slot, it->again.positions));
    if (const auto* it = std::get_if<Shorten>(&order))
      words.push_back("cut " + std::to_string(it->cut.piece_id) + " at " + std::to_string(it->cut.end));
    if (std::holds_alternative<Remark>(order)) words.emplace_back("remark");
    if (std::holds_alternative<EndJob>(order)) words.emplace_back("end");
  }
  return words;
}

// Workers ann, ben and carl in slots 0, 1 and 2; one open round of 30 positions; heartbeats of a second.
class AssignmentsTest : public ::testing::Test {
 protected:
  explicit AssignmentsTest(const std::string& sync = "bsp") : job(test::toy_job(60, 30, 1, 3, 1)) {
    job.sync = parse_sync(sync);
    job.heartbeat = 1;
    for (const char* name : {"ann", "ben", "carl"}) {
      WorkerMember worker;
      worker.slot = static_cast<std::uint32_t>(members.workers.size());
      worker.node = {Role::worker, worker.slot + 1};
      worker.name = name;
      worker.ready = true;
      members.add(worker);
    }
    assignments.emplace(job, Progress{}, balancing::make_policy("equal"), members, rounds);
    rounds.emplace_back(BeginRound{1, 0, 0, {0, 30}, 30, false, false}, Purpose::train, at(1), 0,
                        parse_sync(sync).on_demand);
  }
  RoundState& round() { return rounds.front(); }
  WorkerMember& worker(std::uint32_t slot) { return members.workers.at(slot); }
  std::vector<std::string> begin() { return in_words(assignments->begin(at(1), round())); }
  // The report of a piece's owner.
  [[nodiscard]] Report report_of(PieceId id, double loss = 0) const {
    Report report;
    report.piece.id = id;
    report.piece.positions = rounds.front().find(id)->positions;
    report.loss = loss;
    return report;
  }
  // The owner reports a piece.
  void report(double when, PieceId id) {
    const WorkerMember& owner = worker(*round().find(id)->owner);
    EXPECT_TRUE(assignments->report(at(when), owner, report_of(id)));
  }
  std::vector<std::string> lose(std::uint32_t slot) {
    worker(slot).present = false;
    return in_words(assignments->release(at(2), slot));
  }

  Job job;
  Members members;
  std::list<RoundState> rounds;
  std::optional<Assignments> assignments;
};

TEST_F(AssignmentsTest, ARoundIsDividedAmongWorkingWorkers) {
  worker(1).stalled = true;
  EXPECT_THAT(begin(), ElementsAre("0:[0, 15)", "2:[15, 30)"));
}

TEST_F(AssignmentsTest, SharesBeyondMemoryBecomeSeveralPieces) {
  for (std::uint32_t slot = 0; slot < 3; ++slot) worker(slot).most = 5;
  EXPECT_THAT(begin(),
              ElementsAre("0:[0, 5)", "1:[5, 10)", "2:[10, 15)", "0:[15, 20)", "1:[20, 25)", "2:[25, 30)"));
}

TEST_F(AssignmentsTest, ALostWorkersPiecesAreDividedAmongTheOthers) {
  begin();
  EXPECT_THAT(lose(1), ElementsAre("0:[10, 15)", "2:[15, 20)"));
  EXPECT_THAT(round().owed_by(1), IsEmpty());
}

TEST_F(AssignmentsTest, ANewWorkerAdoptsOrphanedPieces) {
  begin();
  for (std::uint32_t slot = 0; slot < 3; ++slot) lose(slot);
  EXPECT_THAT(in_words(assignments->adopt_orphans(at(3))), IsEmpty());
  worker(2).present = true;
  const auto adopted = in_words(assignments->adopt_orphans(at(3)));
  EXPECT_THAT(adopted, SizeIs(round().owed_by(2).size()));
  EXPECT_THAT(round().owed_by(std::nullopt), IsEmpty());
}

TEST_F(AssignmentsTest, AReportCountsOnceAndOnlyFromTheOwner) {
  begin();
  const Report report = report_of(1);
  EXPECT_FALSE(assignments->report(at(2), worker(1), report));
  EXPECT_TRUE(assignments->report(at(2), worker(0), report));
  EXPECT_FALSE(assignments->report(at(2), worker(0), report));
  EXPECT_TRUE(round().find(1)->reported);
}

TEST_F(AssignmentsTest, ALateReportReplacesPartsThatOthersOwe) {
  begin();
  const Report report = report_of(2);
  lose(1);
  EXPECT_TRUE(assignments->report(at(3), worker(1), report));
  EXPECT_THAT(round().owed_by(0), ElementsAre(1)) << "the part of the lost piece is not owed any more";
  EXPECT_THAT(round().owed_by(2), ElementsAre(3));
}

TEST_F(AssignmentsTest, ALaterReportOfARefusedPieceIsIgnored) {
  begin();
  const Report good = report_of(2);
  EXPECT_THAT(in_words(*assignments->report(at(2), worker(1), report_of(2, NAN))),
              ElementsAre("remark", "2:[10, 20)"));
  EXPECT_FALSE(assignments->report(at(3), worker(1), good)) << "another worker computes it now";
  EXPECT_THAT(round().owed_by(2), SizeIs(2));
}

TEST_F(AssignmentsTest, OwedPiecesNotHeldAreResentAfterTheTimeout) {
  begin();
  EXPECT_THAT(in_words(assignments->repeat_lost(at(3), 0, {})), IsEmpty());
  EXPECT_THAT(in_words(assignments->repeat_lost(at(3.1), 0, {1})), IsEmpty()) << "it holds it";
  EXPECT_THAT(in_words(assignments->repeat_lost(at(3.1), 0, {})), ElementsAre("0:[0, 10)"));
  EXPECT_THAT(in_words(assignments->repeat_lost(at(3.2), 0, {})), IsEmpty()) << "just resent";
}

TEST_F(AssignmentsTest, AGapIsPushedAgainAndThenComputedAgain) {
  begin();
  for (PieceId id = 1; id <= 3; ++id) report(1, id);
  const ShardMember shard;
  const Interval gap{10, 20};
  EXPECT_THAT(in_words(assignments->repair_gap(at(2), round(), gap, shard)), IsEmpty()) << "on its way";
  EXPECT_THAT(in_words(assignments->repair_gap(at(4), round(), gap, shard)), ElementsAre("again 1:[10, 20)"));
  EXPECT_THAT(in_words(assignments->repair_gap(at(5), round(), gap, shard)), IsEmpty());
  EXPECT_THAT(in_words(assignments->repair_gap(at(100), round(), gap, shard)),
              ElementsAre("0:[10, 14)", "1:[14, 17)", "2:[17, 20)"));
  report(100, 5), worker(1).stalled = worker(2).stalled = true;  // a stalled owner cannot push it again
  EXPECT_EQ(in_words(assignments->repair_gap(at(103), round(), {14, 17}, shard)).at(0), "0:[14, 17)");
}

TEST_F(AssignmentsTest, AGapIsLeftAloneWhilePushesArrive) {
  begin();
  report(1, 1);
  ShardMember shard;
  shard.fed = at(9);
  EXPECT_THAT(in_words(assignments->repair_gap(at(10), round(), {0, 10}, shard)), IsEmpty());
}

TEST_F(AssignmentsTest, OnASlowNetworkAPushHasMoreTime) {
  begin();
  report(1, 1);
  assignments->pushed(from_seconds(60));
  EXPECT_THAT(in_words(assignments->repair_gap(at(100), round(), {0, 10}, {})), IsEmpty());
  EXPECT_THAT(in_words(assignments->repair_gap(at(122), round(), {0, 10}, {})),
              ElementsAre("again 0:[0, 10)"));
}

TEST_F(AssignmentsTest, OnlyTheMissingPartOfAPieceIsComputedAgain) {
  begin();
  report(1, 1);
  members.workers.at(1).present = members.workers.at(2).present = false;
  EXPECT_THAT(in_words(assignments->repair_gap(at(4), round(), {2, 5}, {})), ElementsAre("0:[2, 5)"));
  std::uint64_t covered = 0;
  for (const auto& [id, piece] : round().pieces()) covered += piece.positions.size();
  EXPECT_EQ(covered, 30U);
}

TEST_F(AssignmentsTest, APieceWithNonFiniteNumbersIsComputedElsewhereOnce) {
  begin();
  const auto first = assignments->report(at(2), worker(0), report_of(1, NAN));
  EXPECT_THAT(in_words(*first), ElementsAre("remark", "1:[0, 10)"));
  GradientRejected refused;
  refused.piece.id = 1;
  EXPECT_FALSE(assignments->refuse(at(2), refused)) << "it has been issued again";
  refused.piece.id = round().owed_by(1).back();
  const auto second = assignments->refuse(at(3), refused);
  ASSERT_THAT(in_words(*second), ElementsAre("end"));
  EXPECT_THAT(std::get<EndJob>(second->front()).text, HasSubstr("positions 0 to 10"));
}

// Grains of 8: a round of 30 positions has four, the last of 6.
class Grains : public AssignmentsTest {
 protected:
  explicit Grains(const std::string& sync = "bsp") : AssignmentsTest(sync) {
    job.grain = 8;
    with_grains();
  }
  void with_grains() {
    assignments.emplace(job, Progress{}, balancing::make_policy("equal"), members, rounds);
  }
};

TEST_F(Grains, SharesAreWholeGrainsExceptTheLast) {
  EXPECT_THAT(begin(), ElementsAre("0:[0, 16)", "1:[16, 24)", "2:[24, 30)"));
  EXPECT_THAT(lose(0), ElementsAre("1:[0, 8)", "2:[8, 16)"));
}

TEST_F(Grains, WithFewerGrainsThanWorkersSomeGetNothing) {
  job.grain = 16;
  with_grains();
  EXPECT_THAT(begin(), ElementsAre("0:[0, 16)", "1:[16, 30)"));
}

TEST_F(Grains, MemoryHoldsWholeGrains) {
  worker(0).most = 15, worker(1).most = 8, worker(2).most = 9;
  EXPECT_THAT(begin(), ElementsAre("0:[0, 8)", "1:[8, 16)", "2:[16, 24)", "0:[24, 30)"));
}

TEST_F(Grains, AGapInsideAGrainIsWidenedToTheGrain) {
  begin();
  report(1, 1);
  members.workers.at(1).present = members.workers.at(2).present = false;
  EXPECT_THAT(in_words(assignments->repair_gap(at(4), round(), {2, 5}, {})), ElementsAre("0:[0, 8)"));
  EXPECT_THAT(in_words(assignments->repair_gap(at(13), round(), {13, 16}, {})), ElementsAre("0:[8, 16)"));
}

class GrainsOnDemand : public Grains {
 protected:
  GrainsOnDemand() : Grains("asp") {}
};

TEST_F(GrainsOnDemand, QuotasAreWholeGrains) {
  begin();
  for (const std::uint32_t slot : {2U, 1U, 0U}) {
    assignments->may_be_idle(slot);
    EXPECT_THAT(assignments->hand_out(at(1)), SizeIs(1));
  }
  std::vector<std::string> pieces;
  for (const auto& [id, piece] : round().pieces())
    pieces.push_back(std::to_string(piece.positions.begin) + "-" + std::to_string(piece.positions.end));
  EXPECT_THAT(pieces, ElementsAre("0-8", "8-16", "16-30"))
      << "the last share is a grain, though it is shorter";
}

// Ben has begun his piece, the second; ann is done.
class HandingOver : public AssignmentsTest {
 protected:
  HandingOver() : AssignmentsTest("flexrr") {
    begin();
    report(2, 1);
    report_progress(3, 9);
    report_progress(2, 2);
  }
  void report_progress(PieceId id, std::uint64_t done) {
    EXPECT_TRUE(assignments->told(at(2), *round().find(id)->owner, {1, id, done, 2}));
  }
  std::vector<std::string> steal_work() { return in_words(assignments->steal_work(at(2))); }
  std::vector<std::string> answer(PieceId id, Position asked, Position end, std::uint32_t slot = 1) {
    const auto orders = assignments->answer(at(2), slot, {1, id, asked, end});
    return orders ? in_words(*orders) : std::vector<std::string>{"ignored"};
  }
};

TEST_F(HandingOver, TheHelperGetsTheTailOnceTheCutIsConfirmed) {
  EXPECT_THAT(steal_work(), ElementsAre("cut 2 at 16"));
  EXPECT_THAT(steal_work(), IsEmpty()) << "it was sent already";
  EXPECT_EQ(round().find(2)->positions, (Interval{10, 20})) << "and is not answered yet";
  EXPECT_THAT(answer(2, 16, 16, 0), ElementsAre("ignored")) << "another worker's answer";
  EXPECT_THAT(answer(2, 14, 14), ElementsAre("ignored")) << "the answer to another cut";
  EXPECT_THAT(answer(2, 16, 16), ElementsAre("0:[16, 20)"));
  EXPECT_EQ(round().find(2)->positions, (Interval{10, 16}));
  EXPECT_THAT(answer(2, 16, 16), ElementsAre("ignored")) << "repeated";
}

TEST_F(HandingOver, ALateCutChangesNothing) {
  ASSERT_THAT(steal_work(), SizeIs(1));
  EXPECT_THAT(answer(2, 16, 20), IsEmpty());
  EXPECT_EQ(round().find(2)->positions, (Interval{10, 20}));
  EXPECT_THAT(steal_work(), ElementsAre("cut 2 at 18")) << "it had done six";
  EXPECT_THAT(answer(2, 16, 20), ElementsAre("ignored")) << "the former answer, repeated";
}

TEST_F(HandingOver, WithoutAHelperTheTailIsDivided) {
  ASSERT_THAT(steal_work(), SizeIs(1));
  lose(0);
  EXPECT_THAT(answer(2, 16, 16), ElementsAre("1:[16, 18)", "2:[18, 20)"));
}

TEST_F(HandingOver, AReportUpToTheCutAnswersIt) {
  ASSERT_THAT(steal_work(), SizeIs(1));
  Report report = report_of(2);
  report.piece.positions.end = 16;
  EXPECT_THAT(in_words(*assignments->report(at(3), worker(1), report)), ElementsAre("0:[16, 20)"));
  EXPECT_TRUE(round().find(2)->reported);
}

TEST_F(HandingOver, AReportOfTheWholePieceCancelsTheCut) {
  ASSERT_THAT(steal_work(), SizeIs(1));
  EXPECT_THAT(in_words(*assignments->report(at(3), worker(1), report_of(2))), IsEmpty());
  EXPECT_THAT(answer(2, 16, 16), ElementsAre("ignored"));
}

TEST_F(HandingOver, AReissuedPieceIsDividedAtTheOpenCut) {
  ASSERT_THAT(steal_work(), SizeIs(1));
  EXPECT_THAT(lose(1), ElementsAre("0:[10, 13)", "2:[13, 16)", "0:[16, 18)", "2:[18, 20)"));
  Report late;
  late.piece.id = 2;
  late.piece.positions = {10, 16};
  EXPECT_TRUE(assignments->report(at(3), worker(1), late)) << "the cut was in time, but not confirmed";
}

TEST_F(HandingOver, AnUnansweredCutIsResent) {
  ASSERT_THAT(steal_work(), SizeIs(1));
  EXPECT_THAT(in_words(assignments->repeat_lost(at(3), 1, {2})), IsEmpty()) << "it may be under way";
  EXPECT_THAT(in_words(assignments->repeat_lost(at(4.5), 1, {2})), ElementsAre("cut 2 at 16"));
}

class OnDemand : public AssignmentsTest {
 protected:
  OnDemand() : AssignmentsTest("asp") {}
};

TEST_F(OnDemand, IdleWorkersTakeTheirQuotas) {
  EXPECT_THAT(begin(), IsEmpty()) << "no worker is known to be idle";
  assignments->may_be_idle(1);
  EXPECT_THAT(in_words(assignments->hand_out(at(1))), ElementsAre("1:[0, 10)"));
  assignments->may_be_idle(1);
  assignments->may_be_idle(2);
  EXPECT_THAT(in_words(assignments->hand_out(at(1))), ElementsAre("2:[10, 20)")) << "the other owes a piece";
  EXPECT_FALSE(assignments->anybody_idle());
  report(2, 1);
  EXPECT_TRUE(assignments->anybody_idle());
  EXPECT_THAT(in_words(assignments->hand_out(at(2))), ElementsAre("1:[20, 30)"));
}

TEST_F(OnDemand, APieceOfALostWorkerStaysWhole) {
  begin();
  assignments->may_be_idle(0);
  assignments->may_be_idle(1);
  ASSERT_THAT(assignments->hand_out(at(1)), SizeIs(2));
  EXPECT_THAT(lose(0), ElementsAre("2:[0, 10)")) << "to the worker that owes the least";
}

// Divides equally, and records the rounds of its samples.
class Watching final : public balancing::Policy {
 public:
  explicit Watching(std::vector<Round>& seen) : seen_(seen) {}
  void observe(const balancing::Sample& sample) override { seen_.push_back(sample.round); }
  std::vector<std::uint64_t> plan(const balancing::Request& request) override {
    return equal_->plan(request);
  }
  [[nodiscard]] std::string save() const override { return {}; }
  void restore(const std::string&) override {}

 private:
  std::vector<Round>& seen_;
  const std::unique_ptr<Policy> equal_ = balancing::make_policy("equal");
};

class Overlapping : public AssignmentsTest {
 protected:
  Overlapping() : AssignmentsTest("ssp:2") {}
};

// A policy compares the workers of one round, so it receives the rounds in order.
TEST_F(Overlapping, APolicySeesRoundsInOrder) {
  std::vector<Round> seen;
  assignments.emplace(job, Progress{}, std::make_unique<Watching>(seen), members, rounds);
  begin();
  RoundState& next =
      rounds.emplace_back(BeginRound{1, 1, 0, {30, 60}, 30, false, false}, Purpose::train, at(1), 0, false);
  EXPECT_THAT(assignments->begin(at(1), next), SizeIs(3));
  for (const auto& [id, piece] : RoundState::Pieces(next.pieces())) {
    Report report;
    report.piece.round = 1, report.piece.id = id, report.piece.positions = piece.positions;
    EXPECT_TRUE(assignments->report(at(2), worker(*piece.owner), report));
  }
  for (const PieceId id : {1, 2, 3}) report(3, id);
  EXPECT_THAT(seen, IsEmpty()) << "no round is done";
  assignments->finish(round(), {});
  assignments->finish(next, {});
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 1, 1, 1));
}

}  // namespace
}  // namespace steelyard::assignments_test
