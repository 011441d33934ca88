// Acknowledgements while slices arrive, and the end of a worker that fails.
#include "protocol/terms.h"
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_window_test {
namespace {

using ::testing::IsEmpty;

// Forty slices of one float, all on one server.
class WorkerWindowTest : public WorkerTest {
 protected:
  WorkerWindowTest() {
    Job job;
    job.workers = 16;
    append(job.layout, "w", {40});
    job.layout.slice_size = 1;
    EXPECT_EQ(pull_window(job), 8U);
    wake(0);
    deliver(scheduler_node, Welcome{term, 0, job});
    deliver(scheduler_node, Roster{{{left, "tcp://a", 0, 40}}, 1});
    deliver(left, Pong{term});
    deliver(scheduler_node, start(0, 1, {0, 8}));
    EXPECT_EQ(sent_of<Pull>().size(), 1U);
  }
  std::vector<PullAck> arrives(std::uint32_t slice) {
    deliver(left, Parameters{term, 0, slice, Blob::copy_of(std::vector<float>(1, 1.0F)), 1});
    return sent_of<PullAck>();
  }
};

TEST_F(WorkerWindowTest, EveryHalfWindowIsAcknowledged) {
  for (std::uint32_t slice = 0; slice < 39; ++slice) {
    const std::vector<PullAck> acks = arrives(slice);
    if (slice % 4 != 3) {
      EXPECT_THAT(acks, IsEmpty());
      continue;
    }
    ASSERT_EQ(acks.size(), 1U);
    EXPECT_EQ(acks[0].arrived, slice + 1);
    EXPECT_EQ(acks[0].ticket, 1U);
  }
  EXPECT_THAT(arrives(39), IsEmpty()) << "no more slices are expected";
}

TEST_F(WorkerWindowTest, RepeatedSlicesCountForTheWindowToo) {
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_THAT(arrives(0), IsEmpty());
  ASSERT_EQ(arrives(0).size(), 1U);
  EXPECT_EQ(sent_of<PullAck>()[0].arrived, 4U);
}

TEST_F(WorkerWindowTest, ANewPullRestartsTheCount) {
  for (std::uint32_t slice = 0; slice < 3; ++slice) arrives(slice);
  deliver(link_node, Disconnected{left});
  ASSERT_EQ(sent_of<Pull>().size(), 1U);
  EXPECT_THAT(arrives(3), IsEmpty());
}

TEST_F(WorkerTest, AFailedWorkerSendsOneGoodbyeWithTheReason) {
  join();
  deliver(compute_node, Interrupt{"the disk is full"});
  ASSERT_EQ(sent_of<Goodbye>().size(), 1U);
  EXPECT_EQ(sent_of<Goodbye>()[0].failure, "the disk is full");
  EXPECT_TRUE(worker.finished());
}

}  // namespace
}  // namespace steelyard::test::worker_window_test
