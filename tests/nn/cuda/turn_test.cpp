#include "nn/cuda/turn.h"

#include <numeric>

#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::turn_test {
namespace {

std::vector<float> numbers(std::size_t size) {
  std::vector<float> all(size);
  std::iota(all.begin(), all.end(), 1.0F);
  return all;
}

// Adds 0.5 for each number that was there before.
bool turns(std::uint32_t matrices, std::uint32_t rows, std::uint32_t columns, bool add) {
  Stream stream;
  const std::vector<float> in = numbers(std::size_t{matrices} * rows * columns);
  const DeviceArray<float> from = to_device(stream, in);
  const DeviceArray<float> to = to_device(stream, std::vector<float>(in.size(), 0.5F));
  turn(stream, matrices, rows, columns, from.data(), to.data(), add);
  const std::vector<float> out = to_host(stream, to);
  for (std::uint32_t m = 0; m < matrices; ++m) {
    for (std::uint32_t r = 0; r < rows; ++r) {
      for (std::uint32_t c = 0; c < columns; ++c) {
        const std::size_t begin = std::size_t{m} * rows * columns;
        if (out[begin + c * rows + r] != in[begin + r * columns + c] + (add ? 0.5F : 0)) return false;
      }
    }
  }
  return true;
}

TEST(Turn, TurnsMatricesOfAllSizes) {
  in_each_schedule([] {
    EXPECT_TRUE(turns(1, 1, 1, false));
    EXPECT_TRUE(turns(2, 32, 32, false));
    EXPECT_TRUE(turns(3, 33, 65, true));
    EXPECT_TRUE(turns(2, 70, 5, false));
  });
}

// More matrices than blocks.
TEST(Turn, UsesTilesAgain) {
  const auto check = [] { EXPECT_TRUE(turns(1030, 3, 2, false)); };
  thorough ? in_each_schedule(check) : check();
}

TEST(Turn, EachBarrierIsNeeded) {
  expect_barriers_of("turn.cu", [] { return turns(1030, 3, 2, false); });
}

}  // namespace
}  // namespace steelyard::nn::cuda::turn_test
