// Products of matrices on a CUDA device, row by row in memory:
//
//   c[i][j] = sum over k of a[i][k] b[k][j]  (+ bias[j])  (+ what is there, with `add`)
//
// Two implementations: cuBLASLt (nn/cuda/device/device_products.cpp), and for the host executor a kernel of
// our own (tiled_product), which the former is compared with. Sums are float32; factors are
// rounded as the precision says on the device, never by our own kernel.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device_name.h"
#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

struct Product {
  std::uint32_t rows, columns, inner;  // c is rows x columns
  const float* a;
  const float* b;
  float* c;
  bool a_transposed = false;  // a lies as [k][i]
  bool b_transposed = false;  // b lies as [j][k]
  bool add = false;
  const float* bias = nullptr;  // columns
  // Floats from one row to the next, of matrices that are a part of a wider one; 0: they lie close.
  std::uint32_t a_row = 0, b_row = 0, c_row = 0;
  float factor = 1;  // of the sum

  // The same with all distances of rows filled in.
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

  // Adds it to the stream.
  void multiply(const Product& product);

  [[nodiscard]] const char* implementation() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The kernel of our own. A block computes a tile of 64 x 64 of c from strips of a and b that it brings to
// shared memory, so each number is fetched once for 64 uses; each of its 256 threads sums 4 x 4 numbers of
// the tile in registers, so that it reads eight numbers for sixteen products.
void tiled_product(Stream& stream, const Product& product);

}  // namespace steelyard::nn::cuda
