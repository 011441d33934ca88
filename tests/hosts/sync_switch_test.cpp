// Sync-Switch in virtual time: no push is late before the switch, and pushes are late after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hosts/whole_jobs.h"

namespace steelyard::test::sync_switch_test {
namespace {

// The pushes that were late when each round was recorded, in total.
std::vector<std::uint64_t> late_pushes(const std::string& sync) {
  const Job job = job_for(sync, 240, 12, 1);
  World world(job, {});
  world.populate(3, 2);
  const NodeId slow = world.workers()[0];
  world.slowness = [slow](NodeId worker) { return worker == slow ? 5 : 1; };
  world.run();
  expect_whole(world, job, sync);
  std::vector<std::uint64_t> late;
  for (const ToRecorder& message : world.recorded()) {
    const auto* record = std::get_if<RoundRecord>(&message);
    if (record == nullptr || record->purpose != Purpose::train) continue;
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < record->staleness.size(); ++i) sum += record->staleness[i];
    late.push_back(sum);
  }
  return late;
}

TEST(SyncSwitch, PushesAreLateOnlyAfterTheSwitch) {
  const std::vector<std::uint64_t> late = late_pushes("sync-switch:50"), asp = late_pushes("asp");
  ASSERT_EQ(late.size(), 20U);
  for (std::size_t round = 0; round < 10; ++round) EXPECT_EQ(late[round], 0U) << "round " << round;
  EXPECT_GT(late.back(), 20U) << "two slices of each of two shards count";
  EXPECT_GT(asp.at(5), 0U) << "without the barrier, pushes are late from the beginning";
}

}  // namespace
}  // namespace steelyard::test::sync_switch_test
