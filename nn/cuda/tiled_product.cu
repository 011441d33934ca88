#include "nn/cuda/tiled_product.h"

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned tile = 64, strip = 32, threads = 16;  // threads x threads of a block
constexpr unsigned each = tile / threads;                // rows, and columns, of a thread

// Brings a strip of a matrix to shared memory as [inner][outer]; what is outside of the matrix is 0.
// Neighbours in x read neighbours in memory, whichever way the matrix lies: `inner_first` if the inner index
// counts rows.
__device__ void fetch(const float* from, bool inner_first, std::uint32_t row, unsigned outer_begin,
                      unsigned outers, unsigned inner_begin, unsigned inners, float (*to)[tile + 1]) {
  const unsigned thread = threadIdx.y * threads + threadIdx.x, fast = inner_first ? tile : strip;
  for (unsigned i = thread; i < tile * strip; i += threads * threads) {
    const unsigned outer = inner_first ? i % fast : i / fast, inner = inner_first ? i / fast : i % fast;
    const unsigned o = outer_begin + outer, k = inner_begin + inner;
    const std::uint64_t at = inner_first ? std::uint64_t{k} * row + o : std::uint64_t{o} * row + k;
    to[inner][outer] = o < outers && k < inners ? from[at] : 0;  // one more column: no two in a bank
  }
}

__global__ void multiply(Product p) {
  STEELYARD_SHARED(float, a, [strip][tile + 1]);
  STEELYARD_SHARED(float, b, [strip][tile + 1]);
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned first_row = blockIdx.y * tile, first_column = blockIdx.x * tile;
  float sums[each][each] = {};
  for (unsigned first = 0; first < p.inner; first += strip) {
    fetch(p.a, p.a_transposed, p.a_row, first_row, p.rows, first, p.inner, a);
    fetch(p.b, !p.b_transposed, p.b_row, first_column, p.columns, first, p.inner, b);
    __syncthreads();
    const unsigned end = p.inner - first < strip ? p.inner - first : strip;
    for (unsigned k = 0; k < end; ++k) {
      for (unsigned i = 0; i < each && first_row + i * threads < p.rows; ++i) {
        for (unsigned j = 0; j < each; ++j) sums[i][j] += a[k][y + i * threads] * b[k][x + j * threads];
      }
    }
    __syncthreads();
  }
  for (unsigned i = 0; i < each; ++i) {
    for (unsigned j = 0; j < each; ++j) {
      const unsigned row = first_row + y + i * threads, column = first_column + x + j * threads;
      if (row >= p.rows || column >= p.columns) continue;
      float& c = p.c[std::uint64_t{row} * p.c_row + column];
      c = p.factor * sums[i][j] + (p.bias != nullptr ? p.bias[column] : 0) + (p.add ? c : 0);
    }
  }
}

}  // namespace

void tiled_product(Stream& stream, const Product& product) {
  const Product p = product.with_rows();
  launch(stream, {groups_of(p.columns, tile), groups_of(p.rows, tile)}, {threads, threads}, &multiply, p);
}

}  // namespace steelyard::nn::cuda
