#include "worker/data/value_codes.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/random.h"

namespace steelyard::value_codes_test {
namespace {

using testing::ElementsAre;

TEST(ValueCodes, TheTableHasTheNumberOfEachCode) {
  ValueCodes codes(2);
  const std::vector<float> numbers{1, -1, 2, -1, 1, 5};
  std::vector<std::uint8_t> bytes(6);
  ASSERT_TRUE(codes.encode(numbers, bytes.data()));
  EXPECT_THAT(bytes, ElementsAre(0, 0, 1, 0, 0, 1));
  const std::vector<float> table = codes.table();
  ASSERT_EQ(table.size(), 512U);
  EXPECT_EQ(table[0], 1);
  EXPECT_EQ(table[1], 2);
  EXPECT_EQ(table[256], -1);
  EXPECT_EQ(table[257], 5);
  EXPECT_EQ(table[258], 0) << "unused";
}

// Zeros of both signs differ, and so do the bits of NaN; equal bits are equal.
TEST(ValueCodes, KeepAllBits) {
  const std::vector<float> numbers{0.0F, -0.0F, NAN, std::bit_cast<float>(0x7FC0'0001U), NAN, INFINITY};
  ValueCodes codes(1);
  std::vector<std::uint8_t> bytes(numbers.size());
  ASSERT_TRUE(codes.encode(numbers, bytes.data()));
  EXPECT_THAT(bytes, ElementsAre(0, 1, 2, 3, 2, 4));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(codes.table()[bytes[i]]),
              std::bit_cast<std::uint32_t>(numbers[i]));
}

// 256 numbers of any kind, in several calls and any order.
TEST(ValueCodes, HoldUpTo256NumbersOfEachChannel) {
  constexpr std::uint32_t channels = 3;
  Random random(2);
  std::vector<float> known[channels];
  for (auto& numbers : known) {
    for (int i = 0; i < 256; ++i) numbers.push_back(static_cast<float>(random.normal() * i));
  }
  ValueCodes codes(channels);
  for (int call = 0; call < 50; ++call) {
    std::vector<float> pixels;
    for (int i = 0; i < 100; ++i) {
      for (const auto& numbers : known) pixels.push_back(numbers[random.below(256)]);
    }
    std::vector<std::uint8_t> bytes(pixels.size());
    ASSERT_TRUE(codes.encode(pixels, bytes.data()));
    const std::vector<float> table = codes.table();
    for (std::size_t i = 0; i < pixels.size(); ++i)
      ASSERT_EQ(table[256 * (i % channels) + bytes[i]], pixels[i]);
  }
  const std::vector<float> other{known[0][7], known[1][7], 1e9F};
  std::vector<std::uint8_t> bytes(3);
  EXPECT_FALSE(codes.encode(other, bytes.data())) << "a number of another channel is no help";
}

}  // namespace
}  // namespace steelyard::value_codes_test
