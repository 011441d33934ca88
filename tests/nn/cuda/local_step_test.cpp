// Local steps on a device, compared bit for bit with those of the processor.
#include "nn/cuda/local_step.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "core/random.h"
#include "nn/optimizer/clipping.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::local_step_test {
namespace {

constexpr std::uint64_t floats = 10'240;

std::vector<float> random_numbers(Random& random) {
  std::vector<float> values(floats);
  for (float& value : values) value = static_cast<float>(random.uniform() - 0.5);
  return values;
}

// All kinds of ranges, one longer than a block computes. None is multiplied by a power of two.
std::vector<LocalRange> ranges(int step) {
  const float f = 0.1F + 0.01F * static_cast<float>(step);
  using Kind = LocalRange::Kind;
  return {{0, 3, Kind::momentum, {0.7F * f, 0, 0.9F, 1.1F, 0.3F}},
          {3, 9001, Kind::momentum, {f, 0.013F, 0.9F, 0.7F, 0.01F}},
          {9001, 9500, Kind::nesterov, {f, 0.3F, 0.8F, 1.3F, 0.07F}},
          {9500, 9501, Kind::mean, {.moved = 3 * f, .local = f}},
          {9501, 10'000, Kind::mean, {.moved = 1.7F, .local = 0.3F}},
          {10'000, floats, Kind::ema, {.gradient = f, .decay = 17, .momentum = 0.9F, .local = 0.1F / 17}}};
}

// Bits, so that no two NaN are equal to none.
std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> all;
  for (const float value : values) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}

TEST(CudaLocalSteps, HaveTheBitsOfTheProcessor) {
  in_each_schedule([] {
    Random random(5);
    Stream stream;
    LocalSteps steps(stream, floats);
    for (int piece = 0; piece < 2; ++piece) {  // the second must not use the first one's momentum
      std::vector<float> local = random_numbers(random), kept(floats, NAN), moved(floats, NAN);
      const DeviceArray<float> there = to_device(stream, local);
      for (int step = 0; step < 3; ++step) {
        const std::vector<float> gradient = random_numbers(random);
        local_step(ranges(step), step == 0, gradient, local, kept, moved);
        const DeviceArray<float> device_gradient = to_device(stream, gradient);
        steps.step(ranges(step), step == 0, device_gradient.data(), there.data());
        ASSERT_EQ(bits(to_host(stream, there)), bits(local)) << "step " << step;
      }
      PinnedArray<float> result(floats);
      stream.copy_array(result.data(), steps.moved(), floats);
      stream.synchronize();
      EXPECT_EQ(bits({result.data(), result.data() + floats}), bits(moved));
    }
  });
}

// Of ranges whose ends are inside of parts, and of empty ones.
TEST(CudaLocalSteps, NormsHaveTheBitsOfTheProcessor) {
  const std::vector<Interval> ranges{{0, 3}, {7, 7}, {8, 9001}, {9002, 9003}, {9500, floats}};
  in_each_schedule([&] {
    Random random(6);
    Stream stream;
    LocalSteps steps(stream, floats);
    for (int step = 0; step < 2; ++step) {
      const std::vector<float> gradient = random_numbers(random);
      const DeviceArray<float> there = to_device(stream, gradient);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(steps.sum_of_squares(ranges, there.data())),
                std::bit_cast<std::uint64_t>(sum_of_squares_in(ranges, gradient)));
    }
    EXPECT_EQ(LocalSteps(stream, floats).sum_of_squares({}, nullptr), 0);
  });
}

}  // namespace
}  // namespace steelyard::nn::cuda::local_step_test
