// How many early pushes are held. For whole shards see shard_test.
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

TEST(HeldPushes, AWorkerMayHaveTwiceTheSlicesHeld) {
  HeldPushes held(20 * mb);
  for (Round round = 0; round < 40; ++round) EXPECT_TRUE(held.add({Role::worker, 1}, push(round)));
  EXPECT_FALSE(held.add({Role::worker, 1}, push(40)));
  EXPECT_TRUE(held.add({Role::worker, 2}, push(0)));
  const auto all = held.take();
  ASSERT_EQ(all.size(), 41U);
  for (Round round = 0; round < 40; ++round)
    EXPECT_EQ(all[round].push.piece.round, round) << "in their order of arrival";
  EXPECT_EQ(all[40].from, (NodeId{Role::worker, 2}));
  EXPECT_TRUE(held.take().empty());
  EXPECT_TRUE(held.add({Role::worker, 1}, push(40))) << "taken pushes free their room";
}

// With four pieces a round, two lost pushes would cost a second.
TEST(HeldPushes, AWorkerMayHaveAllPiecesOfARoundHeldIfTheModelIsSmall) {
  HeldPushes held(40);
  Push small;
  small.values = Blob::copy_of(std::vector<float>(10));
  std::uint64_t accepted = 0;
  while (held.add({Role::worker, 1}, small)) ++accepted;
  EXPECT_GT(accepted, 1000U);
  EXPECT_LT(accepted, 100'000U) << "pushes without values occupy memory, too";
}

std::uint64_t accepted_of(HeldPushes& held, std::uint64_t pushes, std::uint64_t workers) {
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 0; i < pushes; ++i)
    accepted += held.add({Role::worker, i % workers}, push(0)) ? 1 : 0;
  return accepted;
}

// Independent of the number of workers that the job was started with.
TEST(HeldPushes, WithBackupTheLimitGrowsWithTheWorkers) {
  HeldPushes of_one_round(2 * mb, true);
  EXPECT_EQ(accepted_of(of_one_round, 200, 100), 200U)
      << "all slices of one piece, for each of a hundred workers";
  HeldPushes of_few(20 * mb, true);
  EXPECT_EQ(accepted_of(of_few, 300, 3), 120U) << "twice the slices for each of three workers";
}

TEST(HeldPushes, WithBackupMemoryIsTheLimit) {
  HeldPushes held(mb, true, 100 * mb);
  EXPECT_EQ(accepted_of(held, 300, 300), 100U) << "even if a sender invents worker names";
  HeldPushes large(40 * mb, true, 100 * mb);
  EXPECT_EQ(accepted_of(large, 300, 300), 160U) << "at least the limit without backup";
}

TEST(HeldPushes, AllTogetherMayHaveFourTimesTheSlicesHeld) {
  for (const auto& [bytes, room] : {std::pair<std::uint64_t, std::uint64_t>{20 * mb, 80}, {2 * mb, 64}}) {
    HeldPushes held(bytes);
    std::uint64_t accepted = 0;
    for (std::uint64_t worker = 0; worker < 100; ++worker)
      accepted += held.add({Role::worker, worker}, push(0)) ? 1 : 0;
    EXPECT_EQ(accepted, room);
  }
}

}  // namespace
}  // namespace steelyard::held_pushes_test
