// Who belongs to the job: slots, names, who works.
#include "scheduler/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

WorkerMember worker(std::uint32_t slot, const std::string& name, bool ready = true) {
  WorkerMember it;
  it.node = {Role::worker, 100 + slot};
  it.slot = slot;
  it.name = name;
  it.ready = ready;
  return it;
}
ShardMember shard(std::uint32_t slot, const std::string& name, Version version) {
  ShardMember it;
  it.node = {Role::shard, 200 + slot};
  it.slot = slot;
  it.name = name;
  it.loaded = true;
  it.version = version;
  return it;
}

TEST(Members, ANameKeepsItsSlotAndOthersGetTheLowestFreeOne) {
  Members members;
  EXPECT_EQ(members.worker_slot("ann"), 0U);
  members.workers[0] = worker(0, "ann");
  members.workers[2] = worker(2, "carl");
  EXPECT_EQ(members.worker_slot("carl"), 2U);
  EXPECT_EQ(members.worker_slot("ben"), 1U);
}

TEST(Members, ShardsHaveAsManySlotsAsTheJobSays) {
  Members members;
  members.shards[0] = shard(0, "a", 0);
  EXPECT_EQ(members.shard_slot("b", 2), 1U);
  members.shards[1] = shard(1, "b", 0);
  EXPECT_EQ(members.shard_slot("b", 2), 1U);
  EXPECT_EQ(members.shard_slot("c", 2), std::nullopt);
}

TEST(Members, OnlyThePresentAndReadyWork) {
  Members members;
  EXPECT_THAT(members.working(), IsEmpty());
  members.workers[3] = worker(3, "d");
  members.workers[0] = worker(0, "a");
  members.workers[1] = worker(1, "b", false);
  members.workers[2] = worker(2, "c");
  members.workers[2].present = false;
  EXPECT_THAT(members.working(), ElementsAre(0, 3));
}

TEST(Members, TheSlowestShardCounts) {
  Members members;
  EXPECT_EQ(members.lowest_version(), 0U);
  EXPECT_FALSE(members.all_shards_loaded(2));
  members.shards[0] = shard(0, "a", 7);
  EXPECT_FALSE(members.all_shards_loaded(2)) << "one is missing";
  members.shards[1] = shard(1, "b", 5);
  EXPECT_TRUE(members.all_shards_loaded(2));
  EXPECT_EQ(members.lowest_version(), 5U);
  members.shards[1].loaded = false;
  EXPECT_FALSE(members.all_shards_loaded(2));
}

TEST(Members, AreFoundByNodeAndNamedForPeople) {
  Members members;
  members.workers[0] = worker(0, "ann");
  members.shards[0] = shard(0, "a", 0);
  EXPECT_EQ(members.worker({Role::worker, 100})->name, "ann");
  EXPECT_EQ(members.worker({Role::worker, 101}), nullptr);
  EXPECT_EQ(members.shard({Role::shard, 200})->name, "a");
  EXPECT_EQ(members.shard({Role::worker, 200}), nullptr);
  EXPECT_EQ(members.worker_name({Role::worker, 100}), "ann");
  EXPECT_EQ(members.worker_name({Role::worker, 255}), "worker-ff") << "whoever it was";
}

}  // namespace
}  // namespace steelyard
