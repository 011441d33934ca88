// Before a barrier, pushes that wait for others are repeated once too few workers are left to push.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "scheduler/rounds/assignments.h"
#include "tests/support/toy_job.h"

namespace steelyard::last_pushes_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Workers in slots 0 and 1, and two rounds of 20 positions, of which each takes 10 at a time.
class LastPushes : public ::testing::Test {
 protected:
  void begin(const std::string& sync) {
    job_.sync = parse_sync(sync);
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      WorkerMember worker;
      worker.slot = slot;
      worker.node = {Role::worker, slot + 1};
      worker.ready = true;
      members_.add(worker);
    }
    assignments_.emplace(job_, Progress{}, balancing::make_policy("equal"), members_, rounds_);
    for (const std::uint32_t slot : {0U, 1U}) assignments_->may_be_idle(slot);
    ASSERT_THAT(open(0), SizeIs(2));
    report(1);
    report(2);
    ASSERT_THAT(open(1), SizeIs(2));
  }
  Orders open(Round round) {
    const Interval positions{20 * round, 20 * round + 20};
    rounds_.emplace_back(BeginRound{1, round, 0, positions, 20, false, false}, Purpose::train, Time{}, 0,
                         true);
    return assignments_->begin(Time{}, rounds_.back());
  }
  // The owner reports a piece; pieces are numbered from 1.
  void report(PieceId id) {
    for (const RoundState& round : rounds_) {
      const OwedPiece* piece = round.find(id);
      if (piece == nullptr) continue;
      Report report;
      report.piece = {.id = id, .round = round.round(), .positions = piece->positions};
      ASSERT_TRUE(assignments_->report(Time{}, members_.workers.at(*piece->owner), report));
      return;
    }
    FAIL() << "no piece " << id;
  }

  Job job_ = test::toy_job(60, 20, 1, 2, 1);
  Members members_;
  std::list<RoundState> rounds_;
  std::optional<Assignments> assignments_;
};

TEST_F(LastPushes, TheOneThatIsLeftRepeatsItsPushOnce) {
  begin("ksoft-wait:2");
  EXPECT_THAT(assignments_->end_waits(), IsEmpty()) << "both have pieces to push";
  report(4);
  const Orders orders = assignments_->end_waits();
  ASSERT_THAT(orders, SizeIs(1));
  const auto& again = std::get<AskAgain>(orders[0]);
  EXPECT_EQ(again.slot, 0U);
  EXPECT_EQ(again.again.round, 0U);
  EXPECT_EQ(again.again.positions, (Interval{0, 10})) << "its newest push, of the round before";
  EXPECT_THAT(assignments_->end_waits(), IsEmpty()) << "once is enough";
}

TEST_F(LastPushes, NothingIsRepeatedOnceTheRoundHasClosedOrAllIsReported) {
  begin("ksoft-wait:2");
  report(4);
  rounds_.front().closed = Time{};
  EXPECT_THAT(assignments_->end_waits(), IsEmpty());
  rounds_.front().closed.reset();
  report(3);
  EXPECT_THAT(assignments_->end_waits(), IsEmpty());
}

TEST_F(LastPushes, InOtherModesNoPushWaits) {
  begin("asp");
  report(4);
  EXPECT_THAT(assignments_->end_waits(), IsEmpty());
}

}  // namespace
}  // namespace steelyard::last_pushes_test
