#include "nn/cuda/in_samples.h"

#include <gtest/gtest.h>

#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::in_samples_test {
namespace {

template <unsigned n>
__global__ void count_up(std::uint32_t places, const float* in, float* out) {
  const unsigned i = n * thread_in_sample();
  if (i >= places) return;
  const std::uint64_t at = std::uint64_t{blockIdx.y} * places + i;
  Pack<n> pack = load<n>(in + at);
  for (unsigned k = 0; k < n; ++k) pack.x[k] += 1;
  store<n>(out + at, pack);
}

TEST(CudaInSamples, ReachesEachNumberOnce) {
  Stream stream;
  for (const std::uint32_t places : {1U, 31U, 32U, 60U, 255U, 256U, 1028U}) {
    constexpr std::uint32_t samples = 3;
    const DeviceArray<float> numbers(samples * places);
    const PinnedArray<float> seen(samples * places);
    stream.fill_zero(numbers.data(), sizeof(float) * numbers.size());
    const bool packed = can_pack(places, numbers.data());
    EXPECT_EQ(packed, places % 4 == 0);
    with_packs(packed, [&](auto n) {
      const float* const in = numbers.data();
      launch_in_samples(stream, samples, places / n, &count_up<n>, places, in, numbers.data());
    });
    stream.copy_array(seen.data(), numbers.data(), numbers.size());
    stream.synchronize();
    for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen.data()[i], 1) << i << " of " << places;
  }
}

TEST(CudaInSamples, PacksAreAligned) {
  alignas(16) const float numbers[8]{};
  EXPECT_TRUE(can_pack(4, numbers, numbers + 4));
  EXPECT_FALSE(can_pack(4, numbers, numbers + 1));
  EXPECT_FALSE(can_pack(6, numbers));
}

}  // namespace
}  // namespace steelyard::nn::cuda::in_samples_test
