#include "nn/cuda/columns.h"

#include <gtest/gtest.h>

#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::columns_test {
namespace {

struct Case {
  std::uint32_t from_row, from_first, to_row, to_first, count;
};

TEST(CudaColumns, MovesTheseAndNoOthers) {
  Stream stream;
  constexpr std::uint32_t samples = 2, places = 5, rows = samples * places;
  for (const Case& c :
       {Case{7, 2, 5, 1, 3}, Case{8, 4, 16, 8, 4}, Case{8, 2, 16, 8, 4}, Case{40, 0, 40, 0, 40}}) {
    for (const bool add : {false, true}) {
      const DeviceArray<float> from(rows * c.from_row), to(rows * c.to_row);
      const PinnedArray<float> host(rows * c.from_row), result(rows * c.to_row);
      for (std::uint64_t i = 0; i < host.size(); ++i) host.data()[i] = static_cast<float>(i + 1);
      in_each_schedule([&] {
        std::fill_n(result.data(), result.size(), -1.0F);
        stream.copy_array(from.data(), host.data(), host.size());
        stream.copy_array(to.data(), result.data(), result.size());
        copy_columns(stream, {samples, places, c.count}, from.data() + c.from_first, c.from_row, add,
                     to.data() + c.to_first, c.to_row);
        stream.copy_array(result.data(), to.data(), result.size());
        stream.synchronize();
        for (std::uint32_t i = 0; i < result.size(); ++i) {
          const std::uint32_t row = i / c.to_row, column = i % c.to_row - c.to_first;
          const bool moved = column < c.count;
          const float value = moved ? host.data()[row * c.from_row + c.from_first + column] : 0;
          ASSERT_EQ(result.data()[i], moved && !add ? value : value - 1) << i;
        }
      });
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::columns_test
