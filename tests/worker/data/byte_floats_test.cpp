#include "worker/data/byte_floats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"

namespace steelyard::byte_floats_test {
namespace {

std::vector<std::uint8_t> random_bytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  Random random(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return bytes;
}

// One by one, as the equation says.
float input(std::uint8_t byte, const Normalization& by, std::size_t channel) {
  const std::size_t at = by.mean.size() == 1 ? 0 : channel;
  return static_cast<float>((byte / 255.0 - by.mean[at]) / by.deviation[at]);
}

const Normalization cifar{{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}}, mnist{{0.1307}, {0.3081}},
    plain{};

void expect_equal(const Normalization& by, std::size_t channels, Level level) {
  const ByteFloats floats(by, channels, level);
  EXPECT_TRUE(floats.computed()) << name(level);
  for (const std::size_t pixels : {1U, 28U * 28U, 1024U, 96U * 96U, 77U}) {
    const auto bytes = random_bytes(pixels * channels);
    std::vector<float> rows(bytes.size()), planes(bytes.size());
    floats.convert(bytes.data(), bytes.size(), rows.data());
    floats.convert_planes(bytes.data(), pixels, planes.data());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::size_t channel = i % channels;
      ASSERT_EQ(rows[i], input(bytes[i], by, channel)) << name(level) << ' ' << i;
      ASSERT_EQ(planes[i], input(bytes[channel * pixels + i / channels], by, channel)) << name(level);
    }
  }
}

TEST(ByteFloats, HaveTheBitsOfTheEquationOnEveryLevel) {
  for (const Level level : {Level::baseline, Level::v3, Level::v4}) {
    if (level > cpu_level()) continue;
    expect_equal(cifar, 3, level);
    expect_equal(mnist, 1, level);
    expect_equal(mnist, 3, level);
    expect_equal(plain, 1, level);
    expect_equal(plain, 3, level);
  }
}

// If the mean is a byte itself, as of a channel with one value, its float is 0, but a computed one is not
// always.
TEST(ByteFloats, AreLookedUpIfComputingGivesOtherBits) {
  int looked_up = 0;
  const auto bytes = random_bytes(1024);
  std::vector<float> values(bytes.size()), planes(bytes.size());
  for (int byte = 0; byte < 256; ++byte) {
    const Normalization by{{byte / 255.0}, {1}};
    const ByteFloats floats(by, 1);
    looked_up += floats.computed() ? 0 : 1;
    floats.convert(bytes.data(), bytes.size(), values.data());
    floats.convert_planes(bytes.data(), bytes.size(), planes.data());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_EQ(values[i], input(bytes[i], by, 0)) << byte;
      ASSERT_EQ(planes[i], values[i]) << byte;
    }
  }
  EXPECT_GT(looked_up, 0);
}

}  // namespace
}  // namespace steelyard::byte_floats_test
