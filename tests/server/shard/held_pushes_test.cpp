// How much of what comes too early is held. What a shard does with it: shard_test.
#include "server/shard/held_pushes.h"

#include <gtest/gtest.h>

namespace steelyard::held_pushes_test {
namespace {

constexpr std::uint64_t mb = 1 << 20;

Push push(Round round) {
  Push push;
  push.piece.round = round;
  push.values = Blob::copy_of(std::vector<float>(mb / sizeof(float)));
  return push;
}

TEST(HeldPushes, AWorkerHasRoomForTwiceTheSlices) {
  HeldPushes held(10 * mb);
  for (Round round = 0; round < 20; ++round) EXPECT_TRUE(held.add({Role::worker, 1}, push(round)));
  EXPECT_FALSE(held.add({Role::worker, 1}, push(20)));
  EXPECT_TRUE(held.add({Role::worker, 2}, push(0)));
  const auto all = held.take();
  ASSERT_EQ(all.size(), 21U);
  for (Round round = 0; round < 20; ++round)
    EXPECT_EQ(all[round].push.piece.round, round) << "in their order";
  EXPECT_EQ(all[20].from, (NodeId{Role::worker, 2}));
  EXPECT_TRUE(held.take().empty());
  EXPECT_TRUE(held.add({Role::worker, 1}, push(20))) << "there is room again";
}

std::uint64_t taken_of(HeldPushes& held, std::uint64_t pushes, std::uint64_t workers) {
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < pushes; ++i) taken += held.add({Role::worker, i % workers}, push(0)) ? 1 : 0;
  return taken;
}

// However many the job was begun for.
TEST(HeldPushes, WithBackupThereIsRoomForAllWorkersThatAreThere) {
  HeldPushes of_one_round(2 * mb, true);
  EXPECT_EQ(taken_of(of_one_round, 200, 100), 200U) << "one piece of all slices, of each of a hundred";
  HeldPushes of_few(20 * mb, true);
  EXPECT_EQ(taken_of(of_few, 300, 3), 120U) << "twice the slices for each of three";
}

TEST(HeldPushes, WithBackupMemoryIsTheLimit) {
  HeldPushes held(mb, true, 100 * mb);
  EXPECT_EQ(taken_of(held, 300, 300), 100U) << "whoever invents names of workers";
  HeldPushes large(40 * mb, true, 100 * mb);
  EXPECT_EQ(taken_of(large, 300, 300), 160U) << "never less than without backup";
}

TEST(HeldPushes, AllTogetherHaveRoomForFourTimesTheSlicesAndNeverLittle) {
  for (const auto& [bytes, room] : {std::pair<std::uint64_t, std::uint64_t>{20 * mb, 80}, {2 * mb, 64}}) {
    HeldPushes held(bytes);
    std::uint64_t taken = 0;
    for (std::uint64_t worker = 0; worker < 100; ++worker)
      taken += held.add({Role::worker, worker}, push(0)) ? 1 : 0;
    EXPECT_EQ(taken, room);
  }
}

}  // namespace
}  // namespace steelyard::held_pushes_test
