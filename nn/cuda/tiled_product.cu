#include "nn/cuda/tiled_product.h"

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned tile = 32, strip = 32, rows_of_threads = 8, each = tile / rows_of_threads;

__global__ void multiply(Product p) {
  STEELYARD_SHARED(float, a, [tile][strip + 1]);  // one more: columns do not meet in a bank
  STEELYARD_SHARED(float, b, [strip][tile + 1]);
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned first_row = blockIdx.y * tile, first_column = blockIdx.x * tile;
  float sums[each] = {};
  for (unsigned first = 0; first < p.inner; first += strip) {
    // Neighbours in x read neighbours in memory, whichever way the matrix lies.
    for (unsigned r = y; r < tile; r += rows_of_threads) {
      const unsigned a_row = first_row + (p.a_transposed ? x : r), a_inner = first + (p.a_transposed ? r : x);
      const std::uint64_t a_at = p.a_transposed ? std::uint64_t{a_inner} * p.a_row + a_row
                                                : std::uint64_t{a_row} * p.a_row + a_inner;
      const bool a_inside = a_row < p.rows && a_inner < p.inner;
      a[a_row - first_row][a_inner - first] = a_inside ? p.a[a_at] : 0;
      const unsigned b_inner = first + (p.b_transposed ? x : r),
                     b_column = first_column + (p.b_transposed ? r : x);
      const std::uint64_t b_at = p.b_transposed ? std::uint64_t{b_column} * p.b_row + b_inner
                                                : std::uint64_t{b_inner} * p.b_row + b_column;
      const bool b_inside = b_inner < p.inner && b_column < p.columns;
      b[b_inner - first][b_column - first_column] = b_inside ? p.b[b_at] : 0;
    }
    __syncthreads();
    for (unsigned k = 0; k < strip; ++k) {
      for (unsigned i = 0; i < each; ++i) sums[i] += a[y + i * rows_of_threads][k] * b[k][x];
    }
    __syncthreads();
  }
  const unsigned column = first_column + x;
  if (column >= p.columns) return;
  for (unsigned i = 0; i < each; ++i) {
    const unsigned row = first_row + y + i * rows_of_threads;
    if (row >= p.rows) return;
    float& c = p.c[std::uint64_t{row} * p.c_row + column];
    c = p.factor * sums[i] + (p.bias != nullptr ? p.bias[column] : 0) + (p.add ? c : 0);
  }
}

}  // namespace

void tiled_product(Stream& stream, const Product& product) {
  Product p = product;
  if (p.a_row == 0) p.a_row = p.a_transposed ? p.rows : p.inner;
  if (p.b_row == 0) p.b_row = p.b_transposed ? p.inner : p.columns;
  if (p.c_row == 0) p.c_row = p.columns;
  launch(stream, {groups_of(p.columns, tile), groups_of(p.rows, tile)}, {tile, rows_of_threads}, &multiply,
         p);
}

}  // namespace steelyard::nn::cuda
