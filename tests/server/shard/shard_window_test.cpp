// Answers to a pull are sent in windows, so slow connections hold little memory.
#include <set>

#include "protocol/terms.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::shard_window_test {
namespace {

using test::shard_job;
using test::ShardCase;
using test::worker_node;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Forty slices of one float, and a window of eight.
Job job_of_forty(const std::string& sync) {
  Job job = shard_job(40, 1);
  job.sync = parse_sync(sync);
  job.workers = 16;
  EXPECT_EQ(pull_window(job), 8U);
  return job;
}

TEST(PullWindow, IsDividedBetweenWorkersWithinBounds) {
  Job job;
  for (const auto& [workers, window] : {std::pair(0U, 16U), {8U, 16U}, {10U, 12U}, {32U, 4U}, {5000U, 4U}}) {
    job.workers = workers;
    EXPECT_EQ(pull_window(job), window) << workers;
  }
}

TEST(ShardWindow, AtMostAWindowIsInFlight) {
  ShardCase it(job_of_forty("bsp"));
  it.load();
  it.deliver(worker_node(1), Pull{it.term, 0, 7});
  EXPECT_THAT(it.sent<Parameters>(), SizeIs(8));
  it.deliver(worker_node(2), Pull{it.term, 0, 7});
  EXPECT_THAT(it.sent<Parameters>(), SizeIs(8)) << "each worker has a window of its own";
  std::set<std::uint32_t> slices;
  for (std::uint32_t arrived = 4; arrived <= 40; arrived += 4) {
    it.deliver(worker_node(1), PullAck{it.term, 7, arrived});
    EXPECT_THAT(it.sent<Parameters>(), SizeIs(arrived <= 32 ? 4 : 0)) << arrived;
    for (const Parameters& answer : it.sent<Parameters>()) EXPECT_TRUE(slices.insert(answer.slice).second);
  }
  EXPECT_THAT(slices, SizeIs(32)) << "each of the others exactly once";
}

TEST(ShardWindow, UnrelatedAcknowledgementsAreIgnored) {
  ShardCase it(job_of_forty("bsp"));
  it.load();
  it.deliver(worker_node(1), PullAck{it.term, 7, 4});
  it.deliver(worker_node(1), Pull{it.term, 0, 7});
  it.deliver(worker_node(1), PullAck{it.term, 6, 4});
  EXPECT_THAT(it.output, IsEmpty()) << "an older pull";
  it.deliver(worker_node(1), PullAck{it.term + 1, 7, 4});
  EXPECT_THAT(it.output, IsEmpty()) << "another term";
  it.deliver(worker_node(1), PullAck{it.term, 7, 4'000'000'000});
  EXPECT_THAT(it.sent<Parameters>(), SizeIs(8)) << "counts as an acknowledgement of all that was sent";
  it.deliver(worker_node(1), PullAck{it.term, 7, 3});
  EXPECT_THAT(it.output, IsEmpty()) << "a late acknowledgement changes nothing";
}

TEST(ShardWindow, ARepeatedPullRestartsTheAnswer) {
  ShardCase it(job_of_forty("bsp"));
  it.load();
  it.deliver(worker_node(1), Pull{it.term, 0, 7});
  it.deliver(worker_node(1), Pull{it.term, 0, 7});
  EXPECT_THAT(it.sent<Parameters>(), SizeIs(8)) << "the first answers may have been lost with the connection";
  it.deliver(link_node, Disconnected{worker_node(1)});
  it.deliver(worker_node(1), PullAck{it.term, 7, 8});
  EXPECT_THAT(it.output, IsEmpty()) << "the worker must pull again";
}

// A slice that changes while it waits is sent with its latest values; no older version is kept.
TEST(ShardWindow, WaitingSlicesAreSentWithTheirLatestValues) {
  ShardCase it(job_of_forty("asp"));
  it.load();
  it.open(0, {0, 32});
  it.deliver(worker_node(1), Pull{it.term, 0, 7});
  EXPECT_THAT(it.sent<Parameters>(), SizeIs(8));
  Push push = it.push(0, {0, 8}, 39);
  push.values = ShardCase::constant(1, 8);
  it.deliver(worker_node(2), push);
  EXPECT_THAT(it.sent<Parameters>(), IsEmpty()) << "the window is full";
  for (std::uint32_t arrived = 4; arrived <= 32; arrived += 4)
    it.deliver(worker_node(1), PullAck{it.term, 7, arrived});
  ASSERT_FALSE(it.sent<Parameters>().empty());
  const Parameters last = it.sent<Parameters>().back();
  EXPECT_EQ(last.slice, 39U);
  EXPECT_EQ(last.steps, 1U);
  EXPECT_EQ(last.values.floats()[0], it.parameters()[39]);
}

// Other workers computed its piece, and the version it was pulling has expired.
TEST(ShardWindow, ALatePullGetsVersionExpired) {
  ShardCase it(job_of_forty("bsp"));
  it.load();
  it.deliver(worker_node(1), Pull{it.term, 0, 7});
  it.open(0, {0, 8});
  it.finish(0, {0, 8});
  it.deliver(worker_node(1), PullAck{it.term, 7, 4});
  ASSERT_THAT(it.sent<Parameters>(), SizeIs(4)) << "the previous version is kept";
  EXPECT_EQ(it.sent<Parameters>()[0].version, 0U);
  it.open(1, {8, 16});
  it.finish(1, {8, 16});
  ASSERT_THAT(it.sent<VersionExpired>(), SizeIs(1)) << "for the last slice";
  EXPECT_EQ(it.sent<VersionExpired>()[0].wanted, 0U);
  it.deliver(worker_node(1), PullAck{it.term, 7, 8});
  EXPECT_THAT(it.output, IsEmpty()) << "nothing is left to send";
}

}  // namespace
}  // namespace steelyard::shard_window_test
