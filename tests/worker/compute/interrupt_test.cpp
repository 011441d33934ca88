// How a worker leaves that is told to.
#include <gmock/gmock.h>

#include "tests/worker/worker_case.h"

namespace steelyard::test::interrupt_test {
namespace {

using ::testing::IsEmpty;

TEST_F(WorkerTest, WhatIsReportedIsAcknowledgedBeforeItLeaves) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  for (std::uint32_t slice = 0; slice < 3; ++slice) final(0, 1, slice);
  computed(0, 1, {0, 8});
  tell(link_node, Interrupt{});
  EXPECT_THAT(heard<Goodbye>(), IsEmpty()) << "its pushes may be on their way";
  EXPECT_EQ(heard<Abandon>().size(), 1U);
  tell(scheduler_node, start(1, 2, {8, 16}));
  EXPECT_THAT(said, IsEmpty()) << "nothing is begun any more";
  arrive_all(1);
  EXPECT_EQ(heard<Goodbye>().size(), 1U);
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().stop().outcome, Outcome::interrupted);
}

TEST_F(WorkerTest, AnAcknowledgementIsNotWaitedForLong) {
  join();
  tell(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  computed(0, 1, {0, 8});
  tell(link_node, Interrupt{});
  wake(0.9);
  EXPECT_FALSE(worker.finished());
  wake(0.2);
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(heard<Goodbye>().size(), 1U);
}

TEST_F(WorkerTest, AnInterruptLeavesInOrder) {
  join();
  tell(link_node, Interrupt{});
  EXPECT_EQ(heard<Goodbye>().size(), 1U) << "what it owes is others' now";
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().stop().outcome, Outcome::interrupted);
}

}  // namespace
}  // namespace steelyard::test::interrupt_test
