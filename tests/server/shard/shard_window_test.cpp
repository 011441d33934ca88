// A worker gets its answer in windows: what leaves slowly holds little memory.
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

// Forty slices of one float and windows of eight.
Job job_of_forty(const std::string& sync) {
  Job job = shard_job(40, 1);
  job.sync = parse_sync(sync);
  job.workers = 16;
  EXPECT_EQ(pull_window(job), 8U);
  return job;
}

TEST(PullWindow, IsBoundedInAllAndNeverTooSmallToFillALine) {
  Job job;
  for (const auto& [workers, window] : {std::pair(0U, 16U), {8U, 16U}, {10U, 12U}, {32U, 4U}, {5000U, 4U}}) {
    job.workers = workers;
    EXPECT_EQ(pull_window(job), window) << workers;
  }
}

TEST(ShardWindow, NoMoreIsOnItsWayThanTheWindow) {
  ShardCase it(job_of_forty("bsp"));
  it.load();
  it.tell(worker_node(1), Pull{it.term, 0, 7});
  EXPECT_THAT(it.heard<Parameters>(), SizeIs(8));
  it.tell(worker_node(2), Pull{it.term, 0, 7});
  EXPECT_THAT(it.heard<Parameters>(), SizeIs(8)) << "each worker has a window of its own";
  std::set<std::uint32_t> slices;
  for (std::uint32_t arrived = 4; arrived <= 40; arrived += 4) {
    it.tell(worker_node(1), PullAck{it.term, 7, arrived});
    EXPECT_THAT(it.heard<Parameters>(), SizeIs(arrived <= 32 ? 4 : 0)) << arrived;
    for (const Parameters& answer : it.heard<Parameters>()) EXPECT_TRUE(slices.insert(answer.slice).second);
  }
  EXPECT_THAT(slices, SizeIs(32)) << "each of the others once";
}

TEST(ShardWindow, AcknowledgementsOfSomethingElseOpenNothing) {
  ShardCase it(job_of_forty("bsp"));
  it.load();
  it.tell(worker_node(1), PullAck{it.term, 7, 4});
  it.tell(worker_node(1), Pull{it.term, 0, 7});
  it.tell(worker_node(1), PullAck{it.term, 6, 4});
  EXPECT_THAT(it.said, IsEmpty()) << "an older question";
  it.tell(worker_node(1), PullAck{it.term + 1, 7, 4});
  EXPECT_THAT(it.said, IsEmpty()) << "another history";
  it.tell(worker_node(1), PullAck{it.term, 7, 4'000'000'000});
  EXPECT_THAT(it.heard<Parameters>(), SizeIs(8)) << "more than was sent has not arrived";
  it.tell(worker_node(1), PullAck{it.term, 7, 3});
  EXPECT_THAT(it.said, IsEmpty()) << "one that is late takes nothing back";
}

TEST(ShardWindow, AskingAgainBeginsAnew) {
  ShardCase it(job_of_forty("bsp"));
  it.load();
  it.tell(worker_node(1), Pull{it.term, 0, 7});
  it.tell(worker_node(1), Pull{it.term, 0, 7});
  EXPECT_THAT(it.heard<Parameters>(), SizeIs(8)) << "what was sent is gone with its connection";
  it.tell(link_node, Disconnected{worker_node(1)});
  it.tell(worker_node(1), PullAck{it.term, 7, 8});
  EXPECT_THAT(it.said, IsEmpty()) << "it has to ask again";
}

// Slices that change while they wait are sent as they are then: no older version is kept for anybody.
TEST(ShardWindow, WhereSlicesChangeAtOnceTheLateOnesAreNew) {
  ShardCase it(job_of_forty("asp"));
  it.load();
  it.open(0, {0, 32});
  it.tell(worker_node(1), Pull{it.term, 0, 7});
  EXPECT_THAT(it.heard<Parameters>(), SizeIs(8));
  Push push = it.push(0, {0, 8}, 39);
  push.values = ShardCase::constant(1, 8);
  it.tell(worker_node(2), push);
  EXPECT_THAT(it.heard<Parameters>(), IsEmpty()) << "the window is full";
  for (std::uint32_t arrived = 4; arrived <= 32; arrived += 4)
    it.tell(worker_node(1), PullAck{it.term, 7, arrived});
  ASSERT_FALSE(it.heard<Parameters>().empty());
  const Parameters last = it.heard<Parameters>().back();
  EXPECT_EQ(last.slice, 39U);
  EXPECT_EQ(last.steps, 1U);
  EXPECT_EQ(last.values.floats()[0], it.parameters()[39]);
}

// Its piece was done by others, and the version that it was getting is past.
TEST(ShardWindow, WhoIsTooLateIsToldSo) {
  ShardCase it(job_of_forty("bsp"));
  it.load();
  it.tell(worker_node(1), Pull{it.term, 0, 7});
  it.open(0, {0, 8});
  it.finish(0, {0, 8});
  it.tell(worker_node(1), PullAck{it.term, 7, 4});
  ASSERT_THAT(it.heard<Parameters>(), SizeIs(4)) << "the version before is kept";
  EXPECT_EQ(it.heard<Parameters>()[0].version, 0U);
  it.open(1, {8, 16});
  it.finish(1, {8, 16});
  ASSERT_THAT(it.heard<VersionExpired>(), SizeIs(1)) << "of the last slice";
  EXPECT_EQ(it.heard<VersionExpired>()[0].wanted, 0U);
  it.tell(worker_node(1), PullAck{it.term, 7, 8});
  EXPECT_THAT(it.said, IsEmpty()) << "all is said";
}

}  // namespace
}  // namespace steelyard::shard_window_test
