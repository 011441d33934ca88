#include "nn/cuda/by_channel.h"

#include <gtest/gtest.h>

#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::by_channel_test {
namespace {

struct Difference {
  __device__ float operator()(float a, float b) const { return a - b; }
};

TEST(CudaByChannel, MeetsTheNumbersOfItsSampleAndChannel) {
  Stream stream;
  for (const Places places : {Places{1, 1, 1}, Places{2, 3, 5}, Places{3, 7, 8}, Places{2, 20, 33}}) {
    const std::uint64_t few = places.samples * places.channels, many = few * places.each;
    const DeviceArray<float> numbers(few), values(many), sums(few);
    const PinnedArray<float> host_numbers(few), host_values(many), host_sums(few);
    for (std::uint64_t i = 0; i < few; ++i) host_numbers.data()[i] = static_cast<float>(1000 * i);
    for (std::uint64_t i = 0; i < many; ++i) host_values.data()[i] = static_cast<float>(i);
    in_each_schedule([&] {
      stream.copy_array(numbers.data(), host_numbers.data(), few);
      stream.copy_array(sums.data(), host_numbers.data(), few);
      stream.copy_array(values.data(), host_values.data(), many);
      const float* const in = values.data();
      channel_sums(stream, places, Difference(), 1, true, sums.data(), in, in);
      by_channel(stream, places, Difference(), numbers.data(), values.data(), in);
      const PinnedArray<float> results(many);
      stream.copy_array(results.data(), values.data(), many);
      stream.copy_array(host_sums.data(), sums.data(), few);
      stream.synchronize();
      for (std::uint64_t i = 0; i < many; ++i) {
        const std::uint64_t number =
            i / places.channels / places.each * places.channels + i % places.channels;
        ASSERT_EQ(results.data()[i], host_numbers.data()[number] - static_cast<float>(i)) << i;
      }
      for (std::uint64_t i = 0; i < few; ++i) ASSERT_EQ(host_sums.data()[i], host_numbers.data()[i]) << i;
    });
  }
}

struct Itself {
  __device__ float operator()(float x) const { return x; }
};

TEST(CudaByChannel, SumsAreOfOneSampleAndChannel) {
  Stream stream;
  constexpr Places places{2, 3, 2};
  const DeviceArray<float> values(12), sums(4);
  const PinnedArray<float> host(12), results(4);
  for (int i = 0; i < 12; ++i) host.data()[i] = static_cast<float>(i);
  stream.copy_array(values.data(), host.data(), 12);
  const float* const in = values.data();
  channel_sums(stream, places, Itself(), 2, false, sums.data(), in);
  stream.copy_array(results.data(), sums.data(), 4);
  stream.synchronize();
  EXPECT_EQ(results.data()[0], 12);  // twice 0 + 2 + 4
  EXPECT_EQ(results.data()[1], 18);
  EXPECT_EQ(results.data()[2], 48);
  EXPECT_EQ(results.data()[3], 54);
}

}  // namespace
}  // namespace steelyard::nn::cuda::by_channel_test
