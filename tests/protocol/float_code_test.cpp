// Float codes: their bytes, decoded values and the inputs they refuse.
#include "protocol/float_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/random.h"

namespace steelyard::float_code_test {
namespace {

using ::testing::ElementsAre;

constexpr FloatCode coded[] = {FloatCode::bf16, FloatCode::int8, FloatCode::int4};

std::vector<float> numbers(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}
std::vector<float> decoded(FloatCode code, const Blob& blob, std::size_t size) {
  std::vector<float> values(size);
  EXPECT_TRUE(decode(code, blob.bytes(), values));
  return values;
}
std::vector<int> bytes(const Blob& blob) {
  std::vector<int> all;
  for (const std::byte it : blob.bytes()) all.push_back(std::to_integer<int>(it));
  return all;
}

// Streaming DiLoCo (Douillard et al. 2025) pushes 4-bit values; here each block has its own scale.
TEST(FloatCode, Int4BlockHasAScaleAndNibbles) {
  const std::vector<float> values{7, -3.5F, 1, 0.25F};
  const Blob blob = encode(FloatCode::int4, values);
  EXPECT_THAT(bytes(blob), ElementsAre(0, 0, 0x80, 0x3F, 0xC7, 0x01)) << "scale 1, then -4 and 7, 0 and 1";
  EXPECT_THAT(decoded(FloatCode::int4, blob, 4), ElementsAre(7, -4, 1, 0));
}

TEST(FloatCode, Int8AndBf16RoundToNearest) {
  EXPECT_THAT(bytes(encode(FloatCode::int8, std::vector<float>{127, -126.5F, 2.5F})),
              ElementsAre(0, 0, 0x80, 0x3F, 127, 256 - 126, 2));
  EXPECT_THAT(bytes(encode(FloatCode::bf16, std::vector<float>{1, -2, 1 + 0x1.8p-7F})),
              ElementsAre(0x80, 0x3F, 0x00, 0xC0, 0x82, 0x3F))
      << "ties round to even";
}

TEST(FloatCode, SizesFollowFromTheCode) {
  EXPECT_EQ(coded_bytes(FloatCode::float32, 1000), 4000U);
  EXPECT_EQ(coded_bytes(FloatCode::bf16, 1000), 2000U);
  EXPECT_EQ(coded_bytes(FloatCode::int8, 1000), 1000U + 4 * 4);
  EXPECT_EQ(coded_bytes(FloatCode::int4, 1000), 500U + 4 * 4);
  EXPECT_EQ(coded_bytes(FloatCode::int4, 257), 4U + 128 + 4 + 1);
  EXPECT_EQ(coded_bytes(FloatCode::int4, 0), 0U);
  EXPECT_DOUBLE_EQ(32 * coded_share(FloatCode::int4), 4.125);
  EXPECT_NEAR(1 / coded_share(FloatCode::int4), 7.76, 0.005);
  for (const FloatCode code : coded) EXPECT_EQ(encode(code, numbers(777, 1)).size(), coded_bytes(code, 777));
}

TEST(FloatCode, NearestRoundingErrsByAtMostHalfAStep) {
  for (const std::size_t size : {1U, 2U, 255U, 256U, 257U, 1001U}) {
    const std::vector<float> values = numbers(size, size);
    for (const FloatCode code : {FloatCode::int8, FloatCode::int4}) {
      const std::vector<float> back = decoded(code, encode(code, values), size);
      for (std::size_t at = 0; at < size; at += 256) {
        float most = 0;
        for (std::size_t i = at; i < std::min(size, at + 256); ++i)
          most = std::max(most, std::abs(values[i]));
        const float step = most / (code == FloatCode::int8 ? 127 : 7);
        for (std::size_t i = at; i < std::min(size, at + 256); ++i)
          EXPECT_LE(std::abs(back[i] - values[i]), step * 0.5001F);
      }
    }
    const std::vector<float> halves = decoded(FloatCode::bf16, encode(FloatCode::bf16, values), size);
    for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(halves[i] / values[i], 1, 1.0 / 256);
  }
}

// Stochastic rounding with a key is unbiased, and the same key gives the same bytes.
TEST(FloatCode, StochasticRoundingIsUnbiased) {
  const std::vector<float> values = numbers(300, 5);
  constexpr int draws = 4000;
  for (const FloatCode code : coded) {
    std::vector<double> mean(values.size());
    for (std::uint64_t key = 0; key < draws; ++key) {
      const std::vector<float> back = decoded(code, encode(code, values, hash(key)), values.size());
      for (std::size_t i = 0; i < values.size(); ++i) mean[i] += double{back[i]} / draws;
    }
    float most = 0;
    for (const float value : values) most = std::max(most, std::abs(value));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double step = code == FloatCode::bf16   ? std::abs(values[i]) / 128
                          : code == FloatCode::int8 ? most / 127
                                                    : most / 7;
      // Five standard deviations of the mean; a draw's standard deviation is at most half a step.
      EXPECT_NEAR(mean[i], values[i], 5 * 0.5 * step / std::sqrt(draws)) << static_cast<int>(code);
    }
    EXPECT_EQ(bytes(encode(code, values, 9)), bytes(encode(code, values, 9)));
    EXPECT_NE(bytes(encode(code, values, 9)), bytes(encode(code, values, 10)));
  }
}

TEST(FloatCode, ZeroAndExtremeValuesSurvive) {
  for (const FloatCode code : coded) {
    EXPECT_THAT(decoded(code, encode(code, std::vector<float>(3), 7), 3), ElementsAre(0, 0, 0));
    for (const float value : {1e-45F, 1e-38F, 3e38F, std::numeric_limits<float>::max()}) {
      const std::vector<float> back = decoded(code, encode(code, std::vector<float>{value, -value}, 7), 2);
      EXPECT_TRUE(std::isfinite(back[0]) && back[0] >= 0) << value;
      EXPECT_LE(std::abs(back[0] - value), std::max(1e-44F, value / 64)) << value;
    }
  }
}

TEST(FloatCode, NonFiniteValuesStayNonFinite) {
  for (const FloatCode code : coded) {
    for (const float value : {NAN, INFINITY, -INFINITY}) {
      std::vector<float> values(300, 1.0F);
      values[270] = value;
      const std::vector<float> back = decoded(code, encode(code, values, 3), 300);
      EXPECT_FALSE(std::isfinite(back[270]));
      EXPECT_EQ(back[0], 1) << "other blocks must not change";
    }
  }
}

TEST(FloatCode, InvalidBytesAreRefused) {
  std::vector<float> values(4);
  const auto refuses = [&](FloatCode code, std::vector<std::uint8_t> its) {
    return !decode(code, std::as_bytes(std::span(its)), values);
  };
  EXPECT_FALSE(refuses(FloatCode::int4, {0, 0, 0x80, 0x3F, 0xC7, 0x01}));
  EXPECT_TRUE(refuses(FloatCode::int4, {0, 0, 0x80, 0x3F, 0xC7})) << "too short";
  EXPECT_TRUE(refuses(FloatCode::int4, {0, 0, 0x80, 0x3F, 0xC7, 1, 0})) << "too long";
  EXPECT_TRUE(refuses(FloatCode::int4, {})) << "empty";
  EXPECT_TRUE(refuses(FloatCode::int4, {0, 0, 0x80, 0xBF, 0xC7, 1})) << "a scale below zero";
  EXPECT_TRUE(refuses(FloatCode::int4, {0, 0, 0x80, 0x3F, 0xC8, 1})) << "-8";
  EXPECT_TRUE(refuses(FloatCode::int8, {0, 0, 0x80, 0x3F, 1, 2, 3, 0x80})) << "-128";
  EXPECT_TRUE(refuses(FloatCode::bf16, {0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(refuses(FloatCode::float32, std::vector<std::uint8_t>(15)));
}

TEST(FloatCode, DecodesUnalignedBytes) {
  const std::vector<float> values = numbers(300, 2);
  for (const FloatCode code : {FloatCode::float32, FloatCode::bf16, FloatCode::int8, FloatCode::int4}) {
    const Blob blob = encode(code, values);
    std::vector<std::byte> moved(blob.size() + 1);
    std::memcpy(moved.data() + 1, blob.bytes().data(), blob.size());
    std::vector<float> first(300), second(300), base(300, 2.0F), sum(300);
    EXPECT_TRUE(decode(code, blob.bytes(), first));
    EXPECT_TRUE(decode(code, std::span(moved).subspan(1), second));
    EXPECT_EQ(first, second);
    EXPECT_TRUE(add_decoded(code, blob.bytes(), base, sum));
    for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(sum[i], first[i] + 2.0F);
    EXPECT_FALSE(add_decoded(code, blob.bytes(), std::span(base).first(299), sum));
  }
}

}  // namespace
}  // namespace steelyard::float_code_test
