// For many sizes and keys, the permutation returns each number exactly once.
#include "core/random.h"

#include <gtest/gtest.h>

#include <vector>

namespace steelyard::permutation_test {
namespace {

bool is_bijection(std::uint64_t size, std::uint64_t key) {
  const Permutation permutation(size, key);
  std::vector<bool> hit(size, false);
  for (std::uint64_t position = 0; position < size; ++position) {
    const std::uint64_t sample = permutation(position);
    if (sample >= size || hit[sample]) return false;
    hit[sample] = true;
  }
  return true;
}

TEST(Permutation, EverySmallSizeIsABijection) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{1}, size, UINT64_MAX}) {
      ASSERT_TRUE(is_bijection(size, key)) << size << " samples, key " << key;
    }
  }
}

TEST(Permutation, SizesAroundPowersOfTwoAreBijections) {
  for (const std::uint64_t power : {1024U, 4096U, 16384U, 65536U}) {
    for (const std::uint64_t size : {power - 1, power, power + 1}) {
      ASSERT_TRUE(is_bijection(size, hash(power, size))) << size;
    }
  }
  EXPECT_TRUE(is_bijection(60000, 7)) << "the training set of the examples";
}

TEST(Permutation, DifferentKeysGiveDifferentOrders) {
  const Permutation one(60000, 1), same(60000, 1), other(60000, 2);
  std::uint64_t equal = 0, fixed = 0;
  for (std::uint64_t p = 0; p < 60000; ++p) {
    EXPECT_EQ(one(p), same(p));
    equal += one(p) == other(p) ? 1U : 0U;
    fixed += one(p) == p ? 1U : 0U;
  }
  // Random orders agree in one place on average; twenty are practically impossible.
  EXPECT_LT(equal, 20U);
  EXPECT_LT(fixed, 20U);
}

TEST(Permutation, NeighboursAreScattered) {
  // The mean distance between the samples of neighbouring positions is a third of the size in a random order.
  const std::uint64_t size = 50000;
  const Permutation permutation(size, 11);
  double distance = 0;
  for (std::uint64_t p = 1; p < size; ++p) {
    const auto a = static_cast<double>(permutation(p - 1)), b = static_cast<double>(permutation(p));
    distance += a < b ? b - a : a - b;
  }
  EXPECT_NEAR(distance / static_cast<double>(size) / static_cast<double>(size), 1.0 / 3, 0.02);
}

// A four-round Feistel network that uses one key for all rounds is its own inverse if the halves are
// exchanged: then half of the order would follow from the other half.
TEST(Permutation, IsNotItsOwnInverse) {
  const auto exchanged = [](std::uint64_t value) { return (value & 0xFF) << 8 | value >> 8; };
  for (const std::uint64_t key : {1U, 2U, 3U}) {
    const Permutation permutation(65536, key);
    std::uint64_t back = 0;
    for (std::uint64_t p = 0; p < 65536; ++p)
      back += permutation(exchanged(permutation(p))) == exchanged(p) ? 1U : 0U;
    EXPECT_LT(back, 20U) << "one on average for a random order";
  }
}

TEST(Permutation, HugeSizesStayInRange) {
  for (const std::uint64_t size : {UINT64_MAX, (std::uint64_t{1} << 63) + 1, std::uint64_t{1} << 62}) {
    const Permutation permutation(size, 5);
    Random random(size);
    for (int i = 0; i < 1000; ++i) ASSERT_LT(permutation(random.below(size)), size);
  }
}

TEST(PermutationDeathTest, PositionsOutOfRangeAbort) {
  const Permutation permutation(10, 1);
  EXPECT_DEATH((void)permutation(10), "outside its permutation");
  EXPECT_DEATH(Permutation(0, 1), "empty permutation");
}

}  // namespace
}  // namespace steelyard::permutation_test
