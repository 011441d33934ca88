#include "nn/cuda/add_up.h"

#include <gmock/gmock.h>

#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::add_up_test {
namespace {

TEST(AddUp, AddsEachNumberOnce) {
  for (const std::size_t size : {1, 4, 7, 1024, 2050}) {
    in_each_schedule([&] {
      Stream stream;
      std::vector<float> from(size), to(size), expected(size);
      for (std::size_t i = 0; i < size; ++i) {
        from[i] = static_cast<float>(i), to[i] = 10000, expected[i] = from[i] + 10000;
      }
      const DeviceArray<float> added = to_device(stream, from), sums = to_device(stream, to);
      add_up(stream, size, added.data(), sums.data());
      EXPECT_EQ(to_host(stream, sums), expected);
    });
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::add_up_test
