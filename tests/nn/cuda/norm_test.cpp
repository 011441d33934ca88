#include "nn/cuda/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::norm_test {
namespace {

using Floats = std::vector<float>;

struct Measured {
  double norm;
  float factor;
  Floats clipped;
};

// From a place in memory that is aligned, or is not.
Measured measured(const Floats& numbers, double weight, double longest, bool aligned = true) {
  Stream stream;
  Norm norm;
  const std::uint64_t size = numbers.size();
  const DeviceArray<float> memory(size + 1);
  const PinnedArray<float> host(size), factor(1);
  const PinnedArray<double> value(1);
  float* const at = memory.data() + (aligned ? 0 : 1);
  std::copy(numbers.begin(), numbers.end(), host.data());
  stream.copy_array(at, host.data(), size);
  norm.measure(stream, at, size, weight, longest);
  multiply(stream, at, size, norm.factor());
  stream.copy_array(host.data(), at, size);
  stream.copy_array(value.data(), norm.value(), 1);
  stream.copy_array(factor.data(), norm.factor(), 1);
  stream.synchronize();
  return {*value.data(), *factor.data(), {host.data(), host.data() + size}};
}

Floats random_floats(std::uint64_t size) {
  Random random(size);
  Floats values(size);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  return values;
}

double norm_of(const Floats& numbers) {
  double sum = 0;
  for (const float x : numbers) sum += double{x} * x;
  return std::sqrt(sum);
}

TEST(CudaNorm, IsTheRootOfTheSquares) {
  EXPECT_EQ(measured({3, -4}, 1, 0).norm, 5);
  EXPECT_EQ(measured({3, -4}, 10, 0).norm, 0.5);
  for (const std::uint64_t size : {1U, 3U, 5U, 1023U, 4096U, 4099U, 70001U}) {
    const Floats numbers = random_floats(size);
    for (const bool aligned : {true, false}) {
      EXPECT_NEAR(measured(numbers, 2, 0, aligned).norm, norm_of(numbers) / 2, 1e-12 * norm_of(numbers))
          << size;
    }
  }
  EXPECT_NEAR(measured(Floats(5, 1e30F), 1, 0).norm, std::sqrt(5.0) * 1e30F, 1e18) << "no float overflows";
}

TEST(CudaNorm, ClipsWhatIsTooLong) {
  EXPECT_EQ(measured({3, -4}, 1, 2.5).clipped, (Floats{1.5F, -2}));
  EXPECT_EQ(measured({3, -4}, 10, 0.25).factor, 0.5F);
  EXPECT_EQ(measured({3, -4}, 1, 5).clipped, (Floats{3, -4}));
  EXPECT_EQ(measured({3, -4}, 1, 0).factor, 1) << "no limit";
  EXPECT_EQ(measured({0, 0}, 1, 1).factor, 1);
}

TEST(CudaNorm, EqualNumbersGetEqualBits) {
  const Floats numbers = random_floats(30001);
  const double first = measured(numbers, 1, 0).norm;
  in_each_schedule([&] { EXPECT_EQ(measured(numbers, 1, 0).norm, first); });
}

TEST(CudaNorm, EachBarrierIsNeeded) {
  const Floats numbers = random_floats(9000);
  const double first = measured(numbers, 1, 0).norm;
  expect_barriers_of("norm.cu", [&] { return measured(numbers, 1, 0).norm == first; });
}

}  // namespace
}  // namespace steelyard::nn::cuda::norm_test
