// What decides the algorithm of a product (nn/cuda/device/device_products.cpp): its sizes, its flags, and how
// its matrices and its bias are aligned. Products of equal keys use the same algorithm, at other addresses.
#pragma once

#include <compare>
#include <cstdint>

#include "nn/cuda/products.h"

namespace steelyard::nn::cuda {

// 16, 8, 4 or 2 bytes: of every row of a matrix.
template <class T>
unsigned alignment(const T* pointer, std::uint32_t row) {
  const auto at = reinterpret_cast<std::uintptr_t>(pointer) | std::uintptr_t{row} * sizeof(T);
  return at % 16 == 0 ? 16 : at % 8 == 0 ? 8 : at % 4 == 0 ? 4 : 2;
}

// What adds the bias.
enum class Bias : std::uint8_t { none, library, own_kernel };

struct ProductKey {
  std::uint32_t rows, columns, inner, a_row, b_row, c_row;
  bool a_transposed, b_transposed;
  Bias bias;
  unsigned a_at, b_at, c_at;
  std::size_t factor_bytes, result_bytes;  // the types of the numbers

  // `p` must have all row distances filled in. The library adds only aligned biases, and none to a product
  // that is added to its result.
  template <class Factor, class Result>
  explicit ProductKey(const Product<Factor, Result>& p)
      : rows(p.rows),
        columns(p.columns),
        inner(p.inner),
        a_row(p.a_row),
        b_row(p.b_row),
        c_row(p.c_row),
        a_transposed(p.a_transposed),
        b_transposed(p.b_transposed),
        bias(p.bias == nullptr                      ? Bias::none
             : !p.add && alignment(p.bias, 0) == 16 ? Bias::library
                                                    : Bias::own_kernel),
        a_at(alignment(p.a, p.a_row)),
        b_at(alignment(p.b, p.b_row)),
        c_at(alignment(p.c, p.c_row)),
        factor_bytes(sizeof(Factor)),
        result_bytes(sizeof(Result)) {}

  friend auto operator<=>(const ProductKey&, const ProductKey&) = default;
};

}  // namespace steelyard::nn::cuda
