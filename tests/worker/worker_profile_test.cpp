// A worker of a job with a profile: it measures before it is ready.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_profile_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WorkerProfile : public WorkerTest {
 protected:
  void join_to_measure(std::uint64_t batch = 4, std::vector<WorkerCurve> curves = {}) {
    Job job = make_job();
    job.profile = true;
    job.global_batch = batch;
    job.train_samples = 100;
    job.curves = std::move(curves);
    wake(0);
    deliver(scheduler_node, Welcome{term, 0, job});
    reach_shards();
  }
  // Answers the trial that was sent last; returns its positions.
  Interval answer(double seconds) {
    const auto trials = sent_of<Compute>();
    if (trials.size() != 1 || !trials[0].trial) return {};
    now = now + from_seconds(seconds);
    deliver(compute_node, Computed{Report{.piece = trials[0].piece, .seconds = seconds}});
    return trials[0].piece.positions;
  }
};

TEST_F(WorkerProfile, MeasuresBeforeItIsReady) {
  join_to_measure();
  EXPECT_THAT(sent_of<Ready>(), IsEmpty());
  ASSERT_THAT(sent_of<Compute>(), SizeIs(1));
  EXPECT_TRUE(sent_of<Compute>()[0].parameters.holds_floats(10));
  EXPECT_EQ(answer(0.3), (Interval{0, 1}));
  EXPECT_EQ(answer(0.4), (Interval{0, 2}));
  EXPECT_EQ(answer(0.6), (Interval{0, 4}));
  EXPECT_EQ(answer(0.5), (Interval{0, 1}));
  EXPECT_EQ(answer(0.6), (Interval{0, 2}));
  EXPECT_EQ(answer(0.6), (Interval{0, 4})) << "exactly what is left of three seconds";
  ASSERT_THAT(sent_of<Ready>(), SizeIs(1));
  EXPECT_THAT(sent_of<Ready>()[0].times,
              ElementsAre(BatchTime{1, 0.4}, BatchTime{2, 0.5}, BatchTime{4, 0.6}));
  EXPECT_EQ(sent_of<Ready>()[0].most, 0U);
  EXPECT_EQ(worker.ignored(), 0U);
}

TEST_F(WorkerProfile, ARosterDoesNotHurryIt) {
  join_to_measure(1);
  const Compute trial = sent_of<Compute>().at(0);
  deliver(scheduler_node, roster());
  EXPECT_THAT(sent, IsEmpty()) << "the scheduler sends it until the worker is ready";
  now = now + from_seconds(5);
  deliver(compute_node, Computed{Report{.piece = trial.piece, .seconds = 5}});
  EXPECT_THAT(sent_of<Ready>(), SizeIs(1));
  deliver(scheduler_node, roster());
  ASSERT_THAT(sent_of<Ready>(), SizeIs(1)) << "the first was lost";
  EXPECT_THAT(sent_of<Ready>()[0].times, ElementsAre(BatchTime{1, 5}));
}

TEST_F(WorkerProfile, MemoryLimitsTheBatch) {
  join_to_measure(64);
  answer(0.1), answer(0.1);
  EXPECT_THAT(sent_of<Compute>(), SizeIs(1));
  deliver(compute_node, TrialTooLarge{});
  while (answer(1.3) != Interval{}) {
  }
  ASSERT_THAT(sent_of<Ready>(), SizeIs(1));
  EXPECT_EQ(sent_of<Ready>()[0].most, 2U);
  EXPECT_THAT(sent_of<Ready>()[0].times, SizeIs(2));
}

TEST_F(WorkerProfile, WithACurveItIsNotMeasuredAgain) {
  join_to_measure(64, {{"ann", {0.1, 0.2}}});
  EXPECT_THAT(sent_of<Compute>(), IsEmpty());
  ASSERT_THAT(sent_of<Ready>(), SizeIs(1));
  EXPECT_THAT(sent_of<Ready>()[0].times, IsEmpty());
}

TEST_F(WorkerProfile, AStopEndsThePhase) {
  join_to_measure();
  const Compute trial = sent_of<Compute>().at(0);
  deliver(scheduler_node, Stop{});
  EXPECT_THAT(sent_of<Abandon>(), SizeIs(1));
  EXPECT_TRUE(worker.finished());
  deliver(compute_node, Computed{Report{.piece = trial.piece, .seconds = 1}});
  EXPECT_THAT(sent, IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::worker_profile_test
