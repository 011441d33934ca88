// How an interrupted worker leaves.
#include <gmock/gmock.h>

#include "tests/worker/worker_case.h"

namespace steelyard::test::interrupt_test {
namespace {

using ::testing::IsEmpty;

TEST_F(WorkerTest, AnInterruptWaitsForTheAcknowledgementOfPushes) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  for (std::uint32_t slice = 0; slice < 3; ++slice) final(0, 1, slice);
  computed(0, 1, {0, 8});
  deliver(link_node, Interrupt{});
  EXPECT_THAT(sent_of<Goodbye>(), IsEmpty()) << "its pushes may be on their way";
  EXPECT_EQ(sent_of<Abandon>().size(), 1U);
  deliver(scheduler_node, start(1, 2, {8, 16}));
  EXPECT_THAT(sent, IsEmpty()) << "no piece is begun any more";
  arrive_all(1);
  EXPECT_EQ(sent_of<Goodbye>().size(), 1U);
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().stop().outcome, Outcome::interrupted);
}

TEST_F(WorkerTest, AnInterruptWaitsOneSecondForTheAcknowledgement) {
  join();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  computed(0, 1, {0, 8});
  deliver(link_node, Interrupt{});
  wake(0.9);
  EXPECT_FALSE(worker.finished());
  wake(0.2);
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(sent_of<Goodbye>().size(), 1U);
}

TEST_F(WorkerTest, AnInterruptedWorkerSendsGoodbye) {
  join();
  deliver(link_node, Interrupt{});
  EXPECT_EQ(sent_of<Goodbye>().size(), 1U) << "other workers get its pieces";
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().stop().outcome, Outcome::interrupted);
}

}  // namespace
}  // namespace steelyard::test::interrupt_test
