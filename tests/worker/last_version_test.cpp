// The last version, which a worker may keep after the job has ended.
#include <gmock/gmock.h>

#include "tests/worker/worker_case.h"

namespace steelyard::test::last_version_test {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LastVersion : public WorkerTest {
 protected:
  static Stop stop(Version last) { return {Outcome::finished, "", true, last, self}; }
  LastVersion() : WorkerTest([this](const Blob& blob) { taken.push_back(blob); }) {}
  void SetUp() override { join(); }

  std::vector<Blob> taken;
};

TEST_F(LastVersion, IsPulledIfItIsWantedAndMissing) {
  deliver(scheduler_node, stop(2));
  ASSERT_THAT(sent_of<Pull>(), SizeIs(2));
  EXPECT_EQ(sent_of<Pull>().front().version, 2);
  EXPECT_THAT(sent_of<Goodbye>(), IsEmpty());
  deliver(scheduler_node, start(2, 9, {0, 8}));
  EXPECT_THAT(sent, IsEmpty()) << "no piece is begun any more";
  deliver(scheduler_node, stop(2));
  EXPECT_THAT(sent, IsEmpty()) << "Stop was received before";
  arrive_all(2);
  EXPECT_THAT(sent_of<Goodbye>(), SizeIs(1));
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_THAT(taken.front().floats(), Each(2.0F));
  EXPECT_TRUE(worker.finished());
}

TEST_F(LastVersion, IsTakenAtOnceIfItIsPresent) {
  deliver(scheduler_node, start(1, 1, {0, 8}, Purpose::evaluate));
  arrive_all(1);
  deliver(scheduler_node, stop(1));
  EXPECT_THAT(sent_of<Goodbye>(), SizeIs(1));
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_THAT(taken.front().floats(), Each(1.0F));
}

TEST_F(LastVersion, IsNotWaitedForIfItHasExpired) {
  deliver(scheduler_node, stop(2));
  deliver(left, VersionExpired{2, 3});
  EXPECT_TRUE(worker.finished());
  EXPECT_THAT(taken, IsEmpty());
}

TEST_F(LastVersion, IsWaitedForTenSeconds) {
  deliver(scheduler_node, stop(2));
  wake(9);
  EXPECT_FALSE(worker.finished());
  EXPECT_FALSE(sent_of<WorkerBeat>().empty()) << "the scheduler waits, so it gets heartbeats";
  wake(1.1);
  EXPECT_TRUE(worker.finished());
  EXPECT_THAT(taken, IsEmpty());
}

TEST_F(LastVersion, ARequestToEndTheJobIsRepeatedAndThePieceIsFinished) {
  deliver(scheduler_node, start(1, 1, {0, 8}));
  arrive_all(1);
  deliver(link_node, EndRequested{EndRequest::after_round});
  ASSERT_THAT(sent_of<WorkerBeat>(), SizeIs(1)) << "at once";
  EXPECT_EQ(sent_of<WorkerBeat>()[0].end, EndRequest::after_round);
  EXPECT_THAT(sent_of<Abandon>(), IsEmpty());
  computed(1, 1, {0, 8});
  EXPECT_THAT(sent_of<Report>(), SizeIs(1));
  wake(1);
  EXPECT_EQ(sent_of<WorkerBeat>().at(0).end, EndRequest::after_round);
}

TEST_F(LastVersion, ARequestToEndTheJobNowDropsThePiece) {
  deliver(scheduler_node, start(1, 1, {0, 8}));
  arrive_all(1);
  deliver(link_node, EndRequested{EndRequest::now});
  EXPECT_THAT(sent_of<Abandon>(), SizeIs(1));
  ASSERT_THAT(sent_of<WorkerBeat>(), SizeIs(1));
  EXPECT_EQ(sent_of<WorkerBeat>()[0].end, EndRequest::now);
  computed(1, 1, {0, 8});
  EXPECT_THAT(sent_of<Report>(), IsEmpty()) << "its gradient is incomplete";
  deliver(scheduler_node, start(1, 1, {0, 8}));
  EXPECT_THAT(sent, IsEmpty()) << "no piece is begun any more";
  deliver(scheduler_node, stop(1));
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_THAT(taken.front().floats(), Each(1.0F));
}

TEST_F(LastVersion, AFailedJobHasNoLastVersion) {
  deliver(scheduler_node, Stop{Outcome::server_lost, "gone"});
  EXPECT_TRUE(worker.finished());
  EXPECT_THAT(taken, IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::last_version_test
