#include "nn/cuda/cast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"

namespace steelyard::nn::cuda::cast_test {
namespace {

template <class To, class From>
std::vector<To> cast(const std::vector<From>& values, std::uint64_t first = 0) {
  Stream stream;
  const std::uint64_t size = values.size();
  const DeviceArray<From> from(first + size);
  const DeviceArray<To> to(size);
  const PinnedArray<From> given(size);
  const PinnedArray<To> result(size);
  std::copy(values.begin(), values.end(), given.data());
  stream.copy_array(from.data() + first, given.data(), size);
  if constexpr (std::is_same_v<To, Bf16>) {
    to_bf16(stream, from.data() + first, size, to.data());
  } else {
    to_float(stream, from.data() + first, size, to.data());
  }
  stream.copy_array(result.data(), to.data(), size);
  stream.synchronize();
  return {result.data(), result.data() + size};
}

Bf16 shortened(float value) { return cast<Bf16>(std::vector<float>{value})[0]; }
float of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(CudaCast, RoundsToTheNearestAndToEven) {
  EXPECT_EQ(shortened(1), 0x3F80);
  EXPECT_EQ(shortened(-2), 0xC000);
  EXPECT_EQ(shortened(of_bits(0x3F80'7FFF)), 0x3F80);
  EXPECT_EQ(shortened(of_bits(0x3F80'8000)), 0x3F80) << "half way, even";
  EXPECT_EQ(shortened(of_bits(0x3F81'8000)), 0x3F82) << "half way, odd";
  EXPECT_EQ(shortened(of_bits(0x3F80'8001)), 0x3F81);
  EXPECT_EQ(shortened(of_bits(0x3FFF'8000)), 0x4000) << "the next power of two";
  EXPECT_EQ(shortened(std::numeric_limits<float>::max()), 0x7F80) << "infinity";
  EXPECT_EQ(shortened(-INFINITY), 0xFF80);
  EXPECT_EQ(shortened(of_bits(0x0000'8001)), 0x0001) << "subnormal";
  EXPECT_EQ(shortened(-0.0F), 0x8000);
}

TEST(CudaCast, NanStaysNan) {
  for (const std::uint32_t bits : {0x7F80'0001U, 0x7FFF'FFFFU, 0xFF80'0001U, 0x7FC0'0000U}) {
    const Bf16 result = shortened(of_bits(bits));
    EXPECT_TRUE((result & 0x7F80) == 0x7F80 && (result & 0x7F) != 0) << std::hex << bits;
  }
}

TEST(CudaCast, EveryNumberComesBack) {
  std::vector<Bf16> all;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    if ((bits & 0x7F80) != 0x7F80 || (bits & 0x7F) == 0) all.push_back(static_cast<Bf16>(bits));
  }
  const std::vector<float> floats = cast<float>(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]) >> 16, all[i]);
  EXPECT_EQ(cast<Bf16>(floats), all);
}

TEST(CudaCast, OfAnySizeAndPlace) {
  Random random(1);
  for (const std::uint64_t size : {1U, 3U, 4U, 1027U}) {
    std::vector<float> values(size);
    for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
    const std::vector<Bf16> there = cast<Bf16>(values);
    EXPECT_EQ(cast<Bf16>(values, 1), there);
    const std::vector<float> back = cast<float>(there);
    EXPECT_EQ(cast<float>(there, 1), back);
    for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(back[i], values[i], std::abs(values[i]) / 256);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::cast_test
