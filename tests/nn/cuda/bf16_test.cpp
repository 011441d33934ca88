#include "nn/cuda/bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace steelyard::nn::cuda::bf16_test {
namespace {

Bf16 of_bits(std::uint16_t bits) {
  Bf16 number;
  number.bits = bits;
  return number;
}

TEST(Bf16, KeepsEachOfItsNumbers) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = of_bits(static_cast<std::uint16_t>(bits));
    if (value == value) {
      ASSERT_EQ(Bf16(value).bits, bits);
    } else {
      ASSERT_TRUE(std::isnan(float{Bf16(value)})) << std::hex << bits;
    }
  }
}

// Between 256 and 512 every other integer is a number.
TEST(Bf16, RoundsToTheNearestAndToEven) {
  EXPECT_EQ(float{Bf16(256.0F)}, 256);
  EXPECT_EQ(float{Bf16(257.0F)}, 256) << "a tie";
  EXPECT_EQ(float{Bf16(259.0F)}, 260) << "a tie";
  EXPECT_EQ(float{Bf16(257.01F)}, 258);
  EXPECT_EQ(float{Bf16(-258.99F)}, -258);
  EXPECT_EQ(float{Bf16(1 + 0x1p-9F)}, 1);
  EXPECT_EQ(float{Bf16(1 + 0x1p-8F)}, 1) << "a tie";
  EXPECT_EQ(float{Bf16(1 + 0x1.8p-8F)}, 1 + 0x1p-7F);
}

TEST(Bf16, HasTheRangeOfFloat) {
  constexpr float largest = std::numeric_limits<float>::max(), smallest = 0x1p-133F;
  EXPECT_EQ(float{Bf16(largest)}, INFINITY) << "its upper half rounds up";
  EXPECT_EQ(float{Bf16(0x1.FEp127F)}, 0x1.FEp127F);
  EXPECT_EQ(float{Bf16(-INFINITY)}, -INFINITY);
  EXPECT_EQ(float{Bf16(smallest)}, smallest) << "no small gradient becomes 0";
  EXPECT_TRUE(std::signbit(float{Bf16(-0.0F)}));
}

TEST(Bf16, KeepsNaN) {
  for (const std::uint32_t bits : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU})
    EXPECT_TRUE(std::isnan(float{Bf16(std::bit_cast<float>(bits))})) << std::hex << bits;
}

TEST(Bf16, IsTheTypeOfItsStorage) {
  EXPECT_EQ(in_storage(Storage::bf16, [](auto number) { return sizeof(number); }), 2U);
  EXPECT_EQ(in_storage(Storage::float32, [](auto number) { return sizeof(number); }), 4U);
  EXPECT_EQ(bytes_of(Storage::bf16), 2U);
  EXPECT_EQ(bytes_of(Storage::float32), 4U);
}

}  // namespace
}  // namespace steelyard::nn::cuda::bf16_test
