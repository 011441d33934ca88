// A worker whose piece is cut: it passes the question on to who computes, and pushes and reports what that
// says.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_cut_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class WorkerCut : public WorkerTest {
 protected:
  // Joined, and computing piece 5, the positions [10, 30) of round 4.
  void begin(const std::string& sync = "flexrr") {
    wake(0);
    Job job = make_job();
    job.sync = parse_sync(sync);
    tell(scheduler_node, Welcome{term, 0, job});
    reach_shards();
    tell(scheduler_node, start(4, 5, {10, 30}));
    arrive_all(4);
    ASSERT_THAT(heard<Compute>(), SizeIs(1));
  }
};

TEST_F(WorkerCut, TellsHowFarItIs) {
  begin();
  tell(compute_node, ComputeProgress{5, 8, 4});
  ASSERT_THAT(heard<PieceProgress>(), SizeIs(1));
  const PieceProgress it = heard<PieceProgress>()[0];
  EXPECT_EQ(it.term, term);
  EXPECT_EQ(it.piece_id, 5U);
  EXPECT_EQ(it.done, 8U);
  EXPECT_EQ(it.micro_batch, 4U);
}

TEST_F(WorkerCut, TellsNobodyWhereNothingIsHandedOver) {
  begin("bsp");
  tell(compute_node, ComputeProgress{5, 8, 4});
  EXPECT_THAT(heard<PieceProgress>(), IsEmpty());
}

TEST_F(WorkerCut, PushesAndReportsWhatIsLeft) {
  begin();
  tell(scheduler_node, Cut{term, 5, 18});
  ASSERT_THAT(heard<Cut>(), SizeIs(1)) << "to who computes";
  EXPECT_THAT(heard<CutAnswer>(), IsEmpty());
  tell(compute_node, CutTried{5, 18, 18});
  ASSERT_THAT(heard<CutAnswer>(), SizeIs(1));
  EXPECT_EQ(heard<CutAnswer>()[0].term, term);
  EXPECT_EQ(heard<CutAnswer>()[0].piece_id, 5U);
  EXPECT_EQ(heard<CutAnswer>()[0].end, 18U);
  final(4, 5, 2);
  ASSERT_THAT(heard<Push>(), SizeIs(1));
  EXPECT_EQ(heard<Push>()[0].piece.positions, (Interval{10, 18}));
  EXPECT_EQ(heard<Push>()[0].weight, 8);
  // The answer was lost.
  tell(scheduler_node, Cut{term, 5, 18});
  ASSERT_THAT(heard<CutAnswer>(), SizeIs(1));
  EXPECT_EQ(heard<CutAnswer>()[0].end, 18U);
  EXPECT_THAT(heard<Cut>(), IsEmpty());
  computed(4, 5, {10, 18});
  EXPECT_EQ(heard<Report>()[0].piece.positions, (Interval{10, 18}));
  // Shards miss it.
  tell(scheduler_node, Resend{term, 4, {10, 18}});
  EXPECT_THAT(heard<Push>(), SizeIs(1));
}

TEST_F(WorkerCut, IsRefusedWhereItComesTooLate) {
  begin();
  tell(scheduler_node, Cut{term, 5, 18});
  tell(compute_node, CutTried{5, 18, 30});
  EXPECT_EQ(heard<CutAnswer>()[0].asked, 18U);
  EXPECT_EQ(heard<CutAnswer>()[0].end, 30U);
  for (std::uint32_t slice = 3; slice-- > 0;) final(4, 5, slice);
  EXPECT_EQ(heard<Push>()[0].piece.positions, (Interval{10, 30}));
  computed(4, 5, {10, 30});
  tell(scheduler_node, Cut{term, 5, 18});
  ASSERT_THAT(heard<Report>(), SizeIs(1)) << "the report is the answer";
  EXPECT_EQ(heard<Report>()[0].piece.positions, (Interval{10, 30}));
}

TEST_F(WorkerCut, IsIgnoredWhereItCannotBe) {
  begin();
  tell(scheduler_node, start(4, 6, {40, 50}));
  const std::uint64_t before = worker.ignored();
  tell(scheduler_node, Cut{term + 1, 5, 18});
  tell(scheduler_node, Cut{term, 7, 18});
  tell(scheduler_node, Cut{term, 5, 10});
  tell(scheduler_node, Cut{term, 5, 31});
  tell(scheduler_node, Cut{term, 6, 45});  // nobody is asked to cut what was not begun
  tell(compute_node, CutTried{7, 18, 18});
  EXPECT_EQ(worker.ignored(), before + 6);
}

}  // namespace
}  // namespace steelyard::test::worker_cut_test
