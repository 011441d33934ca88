// What a worker takes home from a job that has ended.
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

TEST_F(LastVersion, IsPulledByWhoWantsItAndDoesNotHaveIt) {
  tell(scheduler_node, stop(2));
  ASSERT_THAT(heard<Pull>(), SizeIs(2));
  EXPECT_EQ(heard<Pull>().front().version, 2);
  EXPECT_THAT(heard<Goodbye>(), IsEmpty());
  tell(scheduler_node, start(2, 9, {0, 8}));
  EXPECT_THAT(said, IsEmpty()) << "nothing is begun any more";
  tell(scheduler_node, stop(2));
  EXPECT_THAT(said, IsEmpty()) << "it was heard";
  arrive_all(2);
  EXPECT_THAT(heard<Goodbye>(), SizeIs(1));
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_THAT(taken.front().floats(), Each(2.0F));
  EXPECT_TRUE(worker.finished());
}

TEST_F(LastVersion, IsTakenAtOnceWhereItIsHere) {
  tell(scheduler_node, start(1, 1, {0, 8}, Purpose::evaluate));
  arrive_all(1);
  tell(scheduler_node, stop(1));
  EXPECT_THAT(heard<Goodbye>(), SizeIs(1));
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_THAT(taken.front().floats(), Each(1.0F));
}

TEST_F(LastVersion, IsNotWaitedForWhereItIsGoneOrDoesNotCome) {
  tell(scheduler_node, stop(2));
  tell(left, VersionExpired{2, 3});
  EXPECT_TRUE(worker.finished());
  EXPECT_THAT(taken, IsEmpty());
}

TEST_F(LastVersion, TenSecondsAreEnough) {
  tell(scheduler_node, stop(2));
  wake(9);
  EXPECT_FALSE(worker.finished());
  EXPECT_FALSE(heard<WorkerBeat>().empty()) << "a sign of life, for the scheduler waits";
  wake(1.1);
  EXPECT_TRUE(worker.finished());
  EXPECT_THAT(taken, IsEmpty());
}

TEST_F(LastVersion, AnEndingThatLeavesNoneHasNone) {
  tell(scheduler_node, Stop{Outcome::server_lost, "gone"});
  EXPECT_TRUE(worker.finished());
  EXPECT_THAT(taken, IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::last_version_test
