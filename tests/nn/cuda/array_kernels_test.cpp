#include "nn/cuda/array_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::array_kernels_test {
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

// Rows of 5 floats, of which the first 3 get the bias; the buffer ends with the third of the last row.
TEST(AddBias, AddsToEachRowAndNothingElse) {
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

struct Case {
  std::uint32_t from_row, from_first, to_row, to_first, count;
};

TEST(CudaColumns, MovesTheSelectedColumnsOnly) {
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

std::vector<float> numbers(std::size_t size) {
  std::vector<float> all(size);
  std::iota(all.begin(), all.end(), 1.0F);
  return all;
}

// With `add`, each destination holds 0.5 before.
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

TEST(Turn, TransposesMatricesOfAllSizes) {
  in_each_schedule([] {
    EXPECT_TRUE(turns(1, 1, 1, false));
    EXPECT_TRUE(turns(2, 32, 32, false));
    EXPECT_TRUE(turns(3, 33, 65, true));
    EXPECT_TRUE(turns(2, 70, 5, false));
  });
}

// More matrices than blocks, so blocks reuse their shared tiles.
TEST(Turn, ReusesTiles) {
  const auto check = [] { EXPECT_TRUE(turns(1030, 3, 2, false)); };
  thorough ? in_each_schedule(check) : check();
}

TEST(Turn, EachBarrierIsNeeded) {
  expect_barriers_of("array_kernels.cu", [] { return turns(1030, 3, 2, false); });
}

// Sorts random numbers from -1 to `rows` on the device and on the host, and compares.
bool sorts(std::uint32_t tokens, std::uint32_t rows) {
  Random random(tokens);
  Stream stream;
  const std::uint64_t room = tokens + 1024;  // a kernel without its barriers may write too far
  PinnedArray<float> numbers(tokens);
  PinnedArray<std::uint32_t> by_rows(tokens), order(tokens);
  std::vector<std::uint32_t> row(tokens), expected(tokens);
  for (std::uint32_t t = 0; t < tokens; ++t) {
    const auto number = static_cast<std::uint32_t>(random.below(rows + 2));
    numbers.data()[t] = static_cast<float>(number) - 1;
    row[t] = number == 0 || number == rows + 1 ? 0 : number - 1;
  }
  std::iota(expected.begin(), expected.end(), 0U);
  std::ranges::stable_sort(expected, {}, [&](std::uint32_t t) { return row[t]; });
  DeviceArray<float> there(tokens);
  DeviceArray<std::uint32_t> sorted_rows(room), sorted_tokens(room);
  stream.copy_array(there.data(), numbers.data(), tokens);
  sort_tokens(stream, there.data(), tokens, rows, {sorted_rows.data(), sorted_tokens.data()});
  stream.copy_array(by_rows.data(), sorted_rows.data(), tokens);
  stream.copy_array(order.data(), sorted_tokens.data(), tokens);
  stream.synchronize();
  for (std::uint32_t i = 0; i < tokens; ++i) {
    if (order.data()[i] != expected[i] || by_rows.data()[i] != row[expected[i]]) return false;
  }
  return true;
}

TEST(SortTokens, SortsByRowsAndKeepsTheirOrder) {
  for (const std::uint32_t tokens : {1, 2, 255, 256, 257, 700}) {
    for (const std::uint32_t rows : {1, 3, 1000}) {
      in_each_schedule([&] { EXPECT_TRUE(sorts(tokens, rows)) << tokens << " tokens, " << rows << " rows"; });
    }
  }
}

TEST(SortTokens, EachBarrierIsNeeded) {
  expect_barriers_of("array_kernels.cu", [] { return sorts(700, 30); });
}

}  // namespace
}  // namespace steelyard::nn::cuda::array_kernels_test
