// A worker passes a Cut on to its compute node, and pushes and reports the piece that the node computes.
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
    deliver(scheduler_node, Welcome{term, 0, job});
    reach_shards();
    deliver(scheduler_node, start(4, 5, {10, 30}));
    arrive_all(4);
    ASSERT_THAT(sent_of<Compute>(), SizeIs(1));
  }
};

TEST_F(WorkerCut, ReportsItsProgress) {
  begin();
  deliver(compute_node, ComputeProgress{5, 8, 4});
  ASSERT_THAT(sent_of<PieceProgress>(), SizeIs(1));
  const PieceProgress it = sent_of<PieceProgress>()[0];
  EXPECT_EQ(it.term, term);
  EXPECT_EQ(it.piece_id, 5U);
  EXPECT_EQ(it.done, 8U);
  EXPECT_EQ(it.micro_batch, 4U);
}

TEST_F(WorkerCut, ReportsNoProgressWithoutWorkStealing) {
  begin("bsp");
  deliver(compute_node, ComputeProgress{5, 8, 4});
  EXPECT_THAT(sent_of<PieceProgress>(), IsEmpty());
}

TEST_F(WorkerCut, PushesAndReportsTheShortenedPiece) {
  begin();
  deliver(scheduler_node, Cut{term, 5, 18});
  ASSERT_THAT(sent_of<Cut>(), SizeIs(1)) << "to the compute node";
  EXPECT_THAT(sent_of<CutAnswer>(), IsEmpty());
  deliver(compute_node, CutTried{5, 18, 18});
  ASSERT_THAT(sent_of<CutAnswer>(), SizeIs(1));
  EXPECT_EQ(sent_of<CutAnswer>()[0].term, term);
  EXPECT_EQ(sent_of<CutAnswer>()[0].piece_id, 5U);
  EXPECT_EQ(sent_of<CutAnswer>()[0].end, 18U);
  final(4, 5, 2);
  ASSERT_THAT(sent_of<Push>(), SizeIs(1));
  EXPECT_EQ(sent_of<Push>()[0].piece.positions, (Interval{10, 18}));
  EXPECT_EQ(sent_of<Push>()[0].weight, 8);
  // The answer was lost.
  deliver(scheduler_node, Cut{term, 5, 18});
  ASSERT_THAT(sent_of<CutAnswer>(), SizeIs(1));
  EXPECT_EQ(sent_of<CutAnswer>()[0].end, 18U);
  EXPECT_THAT(sent_of<Cut>(), IsEmpty());
  computed(4, 5, {10, 18});
  EXPECT_EQ(sent_of<Report>()[0].piece.positions, (Interval{10, 18}));
  // A shard lacks its push.
  deliver(scheduler_node, Resend{term, 4, {10, 18}});
  EXPECT_THAT(sent_of<Push>(), SizeIs(1));
}

TEST_F(WorkerCut, ALateCutIsRefused) {
  begin();
  deliver(scheduler_node, Cut{term, 5, 18});
  deliver(compute_node, CutTried{5, 18, 30});
  EXPECT_EQ(sent_of<CutAnswer>()[0].asked, 18U);
  EXPECT_EQ(sent_of<CutAnswer>()[0].end, 30U);
  for (std::uint32_t slice = 3; slice-- > 0;) final(4, 5, slice);
  EXPECT_EQ(sent_of<Push>()[0].piece.positions, (Interval{10, 30}));
  computed(4, 5, {10, 30});
  deliver(scheduler_node, Cut{term, 5, 18});
  ASSERT_THAT(sent_of<Report>(), SizeIs(1)) << "the report is the answer";
  EXPECT_EQ(sent_of<Report>()[0].piece.positions, (Interval{10, 30}));
}

TEST_F(WorkerCut, InvalidCutsAreIgnored) {
  begin();
  deliver(scheduler_node, start(4, 6, {40, 50}));
  const std::uint64_t before = worker.ignored();
  deliver(scheduler_node, Cut{term + 1, 5, 18});
  deliver(scheduler_node, Cut{term, 7, 18});
  deliver(scheduler_node, Cut{term, 5, 10});
  deliver(scheduler_node, Cut{term, 5, 31});
  deliver(scheduler_node, Cut{term, 6, 45});  // that piece has not begun
  deliver(compute_node, CutTried{7, 18, 18});
  EXPECT_EQ(worker.ignored(), before + 6);
}

}  // namespace
}  // namespace steelyard::test::worker_cut_test
