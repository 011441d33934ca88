// The members of a job: slots, names, and which workers are working.
#include "scheduler/members/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::members_test {
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
  members.add(worker(0, "ann"));
  members.add(worker(2, "carl"));
  EXPECT_EQ(members.worker_slot("carl"), 2U);
  EXPECT_EQ(members.worker_slot("ben"), 1U);
}

// A policy's state for a slot was learnt from the machine with that name.
TEST(Members, SlotsAreReservedForTheirFormerNames) {
  Members members;
  members.reserve({"ann", "", "carl"});
  EXPECT_EQ(members.worker_slot("carl"), 2U);
  EXPECT_EQ(members.worker_slot("new"), 1U);
  members.add(worker(1, "new"));
  EXPECT_EQ(members.worker_slot("newer"), 3U);
  members.add(worker(2, "carl"));
  EXPECT_EQ(members.worker_slot("ann"), 0U);
  EXPECT_THAT(members.names(), ElementsAre("ann", "new", "carl"));
}

TEST(Members, AWorkerThatTakesASlotReplacesTheFormerOne) {
  Members members;
  for (std::uint32_t slot = 0; slot < 4; ++slot) members.add(worker(slot, "w" + std::to_string(slot)));
  WorkerMember back = worker(2, "w2");
  back.node = {Role::worker, 900};
  members.add(back);
  EXPECT_EQ(members.worker({Role::worker, 102}), nullptr);
  EXPECT_EQ(members.worker({Role::worker, 900})->slot, 2U);
  EXPECT_EQ(members.worker_slot("new"), 4U);

  members.remove_if([](const WorkerMember& it) { return it.slot == 1 || it.slot == 3; });
  EXPECT_EQ(members.workers.size(), 2U);
  EXPECT_EQ(members.worker({Role::worker, 103}), nullptr);
  EXPECT_EQ(members.worker_slot("w3"), 1U) << "its former slot is forgotten with it";
  members.add(worker(1, "w3"));
  EXPECT_EQ(members.worker_slot("new"), 3U);
}

TEST(Members, ANodeWithTwoNamesIsFoundByTheLast) {
  Members members;
  members.add(worker(0, "ann"));
  WorkerMember again = worker(1, "ben");
  again.node = {Role::worker, 100};
  members.add(again);
  EXPECT_EQ(members.worker({Role::worker, 100})->name, "ben");
  WorkerMember back = worker(0, "ann");
  back.node = {Role::worker, 900};
  members.add(back);
  EXPECT_EQ(members.worker({Role::worker, 100})->name, "ben")
      << "another node in its first slot changes nothing";
}

TEST(Members, TheJobLimitsTheNumberOfShardSlots) {
  Members members;
  members.shards[0] = shard(0, "a", 0);
  EXPECT_EQ(members.shard_slot("b", 2), 1U);
  members.shards[1] = shard(1, "b", 0);
  EXPECT_EQ(members.shard_slot("b", 2), 1U);
  EXPECT_EQ(members.shard_slot("c", 2), std::nullopt);
}

TEST(Members, OnlyPresentAndReadyWorkersWork) {
  Members members;
  EXPECT_THAT(members.working(), IsEmpty());
  members.add(worker(3, "d"));
  members.add(worker(0, "a"));
  members.add(worker(1, "b", false));
  members.add(worker(2, "c"));
  members.workers[2].present = false;
  EXPECT_THAT(members.working(), ElementsAre(0, 3));
}

TEST(Members, TheSlowestShardDeterminesTheVersion) {
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

TEST(Members, StalenessIsSummedOverShardsAndBounded) {
  Members members;
  EXPECT_THAT(members.staleness(), IsEmpty());
  members.shards[0] = shard(0, "a", 7);
  members.shards[1] = shard(1, "b", 7);
  members.shards[0].staleness = {1, 2};
  members.shards[1].staleness = {0, 3, 4};
  EXPECT_THAT(members.staleness(), ElementsAre(1, 5, 4));
  members.shards[1].staleness.assign(2 * staleness_places, 1);
  EXPECT_EQ(members.staleness().size(), staleness_places);
}

TEST(Members, AreFoundAndNamedByNode) {
  Members members;
  members.add(worker(0, "ann"));
  members.shards[0] = shard(0, "a", 0);
  EXPECT_EQ(members.worker({Role::worker, 100})->name, "ann");
  EXPECT_EQ(members.worker({Role::worker, 101}), nullptr);
  EXPECT_EQ(members.shard({Role::shard, 200})->name, "a");
  EXPECT_EQ(members.shard({Role::worker, 200}), nullptr);
  EXPECT_EQ(members.worker_name({Role::worker, 100}), "ann");
  EXPECT_EQ(members.worker_name({Role::worker, 255}), "worker-ff") << "an unknown node";
}

}  // namespace
}  // namespace steelyard::members_test
