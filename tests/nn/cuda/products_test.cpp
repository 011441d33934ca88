#include "nn/cuda/products.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::products_test {
namespace {

struct Sizes {
  std::uint32_t rows, columns, inner;
};

template <class T>
std::vector<T> numbers(std::size_t size, Random& random) {
  std::vector<T> all(size);
  for (T& value : all) value = static_cast<float>(2 * random.uniform() - 1);
  return all;
}

// Rows are stored with a gap of `gap` numbers, which must not be touched.
template <class Factor = float, class Result = Factor>
void expect_product(Sizes size, bool a_transposed, bool b_transposed, bool add, bool bias,
                    std::uint32_t gap) {
  SCOPED_TRACE(testing::Message() << size.rows << " x " << size.columns << " x " << size.inner
                                  << (a_transposed ? ", a transposed" : "")
                                  << (b_transposed ? ", b transposed" : "") << (add ? ", added" : "")
                                  << (bias ? ", bias" : "") << ", gap " << gap);
  Random random(3);
  const auto [rows, columns, inner] = size;
  const std::uint32_t a_row = (a_transposed ? rows : inner) + gap,
                      b_row = (b_transposed ? inner : columns) + gap;
  const std::uint32_t c_row = columns + gap;
  const std::vector<Factor> a = numbers<Factor>(std::size_t{a_row} * (a_transposed ? inner : rows), random);
  const std::vector<Factor> b =
      numbers<Factor>(std::size_t{b_row} * (b_transposed ? columns : inner), random);
  const std::vector<Result> c = numbers<Result>(std::size_t{c_row} * rows, random),
                            biases = numbers<Result>(columns, random);
  Stream stream;
  Products products(stream, Precision::float32);
  const DeviceArray<Factor> on_a = to_device(stream, a), on_b = to_device(stream, b);
  const DeviceArray<Result> on_c = to_device(stream, c), on_bias = to_device(stream, biases);
  products.multiply(Product<Factor, Result>{.rows = rows,
                                            .columns = columns,
                                            .inner = inner,
                                            .a = on_a.data(),
                                            .b = on_b.data(),
                                            .c = on_c.data(),
                                            .a_transposed = a_transposed,
                                            .b_transposed = b_transposed,
                                            .add = add,
                                            .bias = bias ? on_bias.data() : nullptr,
                                            .a_row = gap == 0 ? 0 : a_row,
                                            .b_row = gap == 0 ? 0 : b_row,
                                            .c_row = gap == 0 ? 0 : c_row,
                                            .factor = 0.5F});
  const std::vector<Result> result = to_host(stream, on_c);
  for (std::uint32_t i = 0; i < rows; ++i) {
    for (std::uint32_t j = 0; j < c_row; ++j) {
      double sum = 0;
      for (std::uint32_t k = 0; k < inner && j < columns; ++k) {
        const float of_a = a_transposed ? a[k * a_row + i] : a[i * a_row + k];
        sum += double{of_a} * (b_transposed ? b[j * b_row + k] : b[k * b_row + j]);
      }
      const float before = c[i * c_row + j];
      const float biased = bias ? float{biases[j]} : 0;
      const double expected = j >= columns ? before : 0.5 * sum + biased + (add ? before : 0);
      const double stored = sizeof(Result) == 2 ? 0x1p-8 * std::abs(expected) : 0;
      ASSERT_NEAR(result[i * c_row + j], expected, 1e-5 * (1 + inner) + stored) << "at " << i << ", " << j;
    }
  }
}

TEST(Products, SupportAllSizesAndLayouts) {
  const std::vector<Sizes> sizes =
      thorough ? std::vector<Sizes>{{1, 1, 1}, {7, 5, 3}, {64, 64, 32}, {65, 3, 33}, {3, 130, 70}}
               : std::vector<Sizes>{{3, 65, 33}};
  for (const Sizes size : sizes) {
    for (unsigned way = 0; way < 16; ++way) {
      expect_product(size, way & 1, way & 2, way & 4, way & 8, way % 3);
    }
  }
}

TEST(Products, OfNumbersInBfloat16AreSummedInFloat32) {
  for (unsigned way = 0; way < 16; ++way) {
    expect_product<Bf16>({7, 65, 33}, way & 1, way & 2, way & 4, way & 8, way % 3);
    expect_product<Bf16, float>({65, 5, 300}, way & 1, way & 2, way & 4, way & 8, way % 3);
  }
}

TEST(Products, AreCorrectInEachSchedule) {
  in_each_schedule([] { expect_product({9, 66, 40}, false, true, true, true, 1); });
}

}  // namespace
}  // namespace steelyard::nn::cuda::products_test
