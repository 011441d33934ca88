// Products of row-major matrices on a CUDA device:
//
//   c[i][j] = sum over k of a[i][k] b[k][j]  (+ bias[j])  (+ c[i][j], with `add`)
//
// Two implementations: cuBLASLt (nn/cuda/device/device_products.cpp) and, for the host executor, our own
// kernel (tiled_product), which tests compare with the former. Sums are in float32. Factors and results are
// stored as float or Bf16; the device rounds float factors to the precision, our kernel never does.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device_name.h"
#include "nn/cuda/bf16.h"
#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

template <class Factor = float, class Result = Factor>
struct Product {
  std::uint32_t rows, columns, inner;  // c is rows x columns
  const Factor* a;
  const Factor* b;
  Result* c;
  bool a_transposed = false;  // a is stored as [k][i]
  bool b_transposed = false;  // b is stored as [j][k]
  bool add = false;
  const Result* bias = nullptr;  // columns
  // Numbers from one row to the next, for matrices that are part of a wider one; 0: no gaps.
  std::uint32_t a_row = 0, b_row = 0, c_row = 0;
  float factor = 1;  // of the sum

  // The same with all row distances filled in.
  [[nodiscard]] Product with_rows() const {
    Product p = *this;
    if (p.a_row == 0) p.a_row = a_transposed ? rows : inner;
    if (p.b_row == 0) p.b_row = b_transposed ? inner : columns;
    if (p.c_row == 0) p.c_row = columns;
    return p;
  }
};

class Products {
 public:
  Products(Stream& stream, Precision precision);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // Adds the product to the stream's work.
  void multiply(const Product<float>& product);
  void multiply(const Product<Bf16>& product);
  void multiply(const Product<Bf16, float>& product);

  [[nodiscard]] const char* implementation() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Our own kernel. A block computes a 64 x 64 tile of c from strips of a and b in shared memory, so each
// number is fetched once for 64 uses. Each of its 256 threads sums 4 x 4 numbers of the tile in registers, so
// it reads eight numbers for sixteen products.
template <class Factor, class Result>
void tiled_product(Stream& stream, const Product<Factor, Result>& product);

}  // namespace steelyard::nn::cuda
