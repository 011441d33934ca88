// Memory that other processes can open is a part of a block, and is used again.
#include "nn/cuda/lendable_memory.h"

#include <gtest/gtest.h>

namespace steelyard::nn::cuda::lendable_memory_test {
namespace {

// Sizes are those of no other test.
class LendableMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    use_device(0);
    begin_to_lend();
    if (!LendableMemory(1).place()) GTEST_SKIP() << "this system's memory has no names";
  }
};

TEST_F(LendableMemoryTest, PartsOfABlockHaveItsNameAndDoNotOverlap) {
  const LendableMemory one(1000), two(3000);
  const DevicePlace first = *one.place(), second = *two.place();
  EXPECT_EQ(first.size, 1000U);
  EXPECT_EQ(second.size, 3000U);
  EXPECT_EQ(first.bytes % named_granularity, 0U);
  for (const DevicePlace& place : {first, second}) {
    EXPECT_LE(place.offset + place.size, place.bytes);
    EXPECT_EQ(place.offset % 256, 0U);
  }
  if (first.memory == second.memory) {
    EXPECT_TRUE(first.offset + first.size <= second.offset || second.offset + second.size <= first.offset);
  }
}

TEST_F(LendableMemoryTest, LargeMemoryHasABlockOfItsOwn) {
  const LendableMemory large((16 << 20) + 4), small(1001);
  EXPECT_EQ(large.place()->offset, 0U);
  EXPECT_EQ(large.place()->bytes, 18U << 20);
  EXPECT_NE(large.place()->memory, small.place()->memory);
}

TEST_F(LendableMemoryTest, ABlockThatIsFullIsFollowedByAnother) {
  const LendableMemory one(9 << 20), two(9 << 20);
  EXPECT_NE(one.place()->memory, two.place()->memory);
}

TEST_F(LendableMemoryTest, ItIsUsedAgainForTheSameSize) {
  const void* place = nullptr;
  {
    const LendableMemory memory(12'345);
    place = memory.data();
  }
  const LendableMemory other(12'346), again(12'345), next(12'345);
  EXPECT_EQ(again.data(), place);
  EXPECT_NE(other.data(), place);
  EXPECT_NE(next.data(), place) << "it is in use";
}

TEST_F(LendableMemoryTest, RetiredMemoryIsNotUsedAgain) {
  const void* place = nullptr;
  {
    const LendableMemory memory(54'321);
    place = memory.data();
    memory.retire();
  }
  const LendableMemory other(54'321);
  EXPECT_NE(other.data(), place);
}

}  // namespace
}  // namespace steelyard::nn::cuda::lendable_memory_test
