// What a worker says while slices arrive, and when it cannot go on.
#include "protocol/terms.h"
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_window_test {
namespace {

using ::testing::IsEmpty;

// Forty slices of one float, all of one server.
class WorkerWindowTest : public WorkerTest {
 protected:
  WorkerWindowTest() {
    Job job;
    job.workers = 16;
    append(job.layout, "w", {40});
    job.layout.slice_size = 1;
    EXPECT_EQ(pull_window(job), 8U);
    wake(0);
    tell(scheduler_node, Welcome{term, 0, job});
    tell(scheduler_node, Roster{{{left, "tcp://a", 0, 40}}, 1});
    tell(left, Pong{term});
    tell(scheduler_node, start(0, 1, {0, 8}));
    EXPECT_EQ(heard<Pull>().size(), 1U);
  }
  std::vector<PullAck> comes(std::uint32_t slice) {
    tell(left, Parameters{term, 0, slice, Blob::copy_of(std::vector<float>(1, 1.0F)), 1});
    return heard<PullAck>();
  }
};

TEST_F(WorkerWindowTest, EveryHalfWindowIsAcknowledged) {
  for (std::uint32_t slice = 0; slice < 39; ++slice) {
    const std::vector<PullAck> acks = comes(slice);
    if (slice % 4 != 3) {
      EXPECT_THAT(acks, IsEmpty());
      continue;
    }
    ASSERT_EQ(acks.size(), 1U);
    EXPECT_EQ(acks[0].arrived, slice + 1);
    EXPECT_EQ(acks[0].ticket, 1U);
  }
  EXPECT_THAT(comes(39), IsEmpty()) << "nothing more is to come";
}

TEST_F(WorkerWindowTest, WhatComesTwiceHasLeftTheWindowToo) {
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_THAT(comes(0), IsEmpty());
  ASSERT_EQ(comes(0).size(), 1U);
  EXPECT_EQ(heard<PullAck>()[0].arrived, 4U);
}

TEST_F(WorkerWindowTest, ANewQuestionBeginsANewCount) {
  for (std::uint32_t slice = 0; slice < 3; ++slice) comes(slice);
  tell(link_node, Disconnected{left});
  ASSERT_EQ(heard<Pull>().size(), 1U);
  EXPECT_THAT(comes(3), IsEmpty());
}

TEST_F(WorkerTest, WhoCannotGoOnLeavesOnceAndSaysWhy) {
  join();
  tell(compute_node, Interrupt{"the disk is full"});
  ASSERT_EQ(heard<Goodbye>().size(), 1U);
  EXPECT_EQ(heard<Goodbye>()[0].failure, "the disk is full");
  EXPECT_TRUE(worker.finished());
}

}  // namespace
}  // namespace steelyard::test::worker_window_test
