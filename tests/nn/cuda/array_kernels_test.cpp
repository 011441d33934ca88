#include "nn/cuda/array_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "nn/optimizer/vector.h"
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

// With the bits of a processor: servers add slices with it.
TEST(AddArrays, AddsEachElementOfTwo) {
  for (const std::size_t size : {1, 4, 1031}) {
    in_each_schedule([&] {
      Stream stream;
      Random random(size);
      std::vector<float> x(size), y(size), expected(size);
      for (std::size_t i = 0; i < size; ++i) {
        x[i] = static_cast<float>(random.normal()), y[i] = static_cast<float>(random.normal());
      }
      nn::sum(expected, x, y);
      const DeviceArray<float> a = to_device(stream, x), b = to_device(stream, y), into(size);
      add_arrays<float>(stream, size, a.data(), b.data(), into.data());
      EXPECT_EQ(to_host(stream, into), expected);
      add_arrays<float>(stream, size, a.data(), b.data(), a.data());
      EXPECT_EQ(to_host(stream, a), expected);
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

// Numbers of tokens: any below -1 to `rows`, all the same, all different, or most of them the same.
enum class Numbers : std::uint8_t { any, same, different, skewed };

float number_of(std::uint32_t token, std::uint32_t rows, Numbers numbers, Random& random) {
  const auto any = static_cast<float>(random.below(rows + 2)) - 1;
  if (numbers == Numbers::same) return static_cast<float>(rows - 1);
  if (numbers == Numbers::different) return static_cast<float>(rows - 1 - token % rows);
  return numbers == Numbers::skewed && random.below(8) != 0 ? 0 : any;
}

// Sorts on the device and on the host, and compares. `room`: more keys than tokens, since a kernel without
// its barriers may write too far.
bool sorts(std::uint32_t tokens, std::uint32_t rows, Numbers kind = Numbers::any, std::uint64_t room = 0) {
  Random random(tokens);
  Stream stream;
  std::vector<float> numbers(tokens);
  std::vector<std::uint64_t> expected(tokens);
  for (std::uint32_t t = 0; t < tokens; ++t) {
    numbers[t] = number_of(t, rows, kind, random);
    const bool valid = numbers[t] >= 0 && numbers[t] < static_cast<float>(rows);
    expected[t] = (valid ? static_cast<std::uint64_t>(numbers[t]) : 0) << 32 | t;
  }
  std::ranges::sort(expected);
  const DeviceArray<float> there = to_device(stream, numbers);
  const DeviceArray<std::uint64_t> keys(tokens + room), other(tokens + room);
  sort_tokens(stream, there.data(), tokens, rows, keys.data(), other.data());
  std::vector<std::uint64_t> sorted = to_host(stream, keys);
  sorted.resize(tokens);
  return sorted == expected;
}

// Around the tile of 256 and around the runs of 1024 and 4096 that merges make.
TEST(SortTokens, SortsByRowsAndKeepsTheirOrder) {
  using Sizes = std::vector<std::uint32_t>;
  for (const std::uint32_t tokens :
       thorough ? Sizes{1, 2, 255, 256, 257, 700, 1024, 1025, 4096, 4097, 5000} : Sizes{1, 256, 257, 1100}) {
    for (const std::uint32_t rows : {1, 3, 1000, 6000}) {
      for (const Numbers kind : {Numbers::any, Numbers::same, Numbers::different, Numbers::skewed})
        EXPECT_TRUE(sorts(tokens, rows, kind)) << tokens << " tokens, " << rows << " rows";
    }
  }
  in_each_schedule([] { EXPECT_TRUE(sorts(1100, 30)); });
}

TEST(SortTokens, EachBarrierIsNeeded) {
  expect_barriers_of("array_kernels.cu", [] { return sorts(700, 30, Numbers::any, 1024); });
}

TEST(ColumnSums, ManyRowsInOneStageAreRefused) {
  Stream stream;
  const DeviceArray<float> in(one_stage_rows + 1), out(1);
  column_sums(stream, in.data(), one_stage_rows, 1, false, out.data());
  stream.synchronize();
  EXPECT_DEATH(column_sums(stream, in.data(), one_stage_rows + 1, 1, false, out.data()), "two stages");
}

}  // namespace
}  // namespace steelyard::nn::cuda::array_kernels_test
