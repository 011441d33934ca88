#include "nn/cuda/add_bias.h"

#include <gmock/gmock.h>

#include <array>

#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::add_bias_test {
namespace {

// Rows of 5, of which the first 3 get the bias; behind the last of these there is nothing more.
TEST(AddBias, ToEachRowAndToNothingBeside) {
  constexpr std::uint32_t rows = 200, columns = 3, row = 5;
  in_each_schedule([&] {
    Stream stream;
    const DeviceArray<float> bias = to_device<float>(stream, {1, 20, 300});
    std::vector<float> before((rows - 1) * row + columns), expected;
    for (std::size_t i = 0; i < before.size(); ++i) {
      before[i] = static_cast<float>(i % 7);
      expected.push_back(before[i] + std::array<float, row>{1, 20, 300, 0, 0}[i % row]);
    }
    const DeviceArray<float> to = to_device(stream, before);
    add_bias(stream, bias.data(), rows, columns, row, to.data());
    EXPECT_EQ(to_host(stream, to), expected);
  });
}

}  // namespace
}  // namespace steelyard::nn::cuda::add_bias_test
