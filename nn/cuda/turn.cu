// A tile at a time through shared memory, so that both sides are read and written side by side.
#include "nn/cuda/turn.h"

#include <algorithm>

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned tile = 32, rows_of_threads = 8, most_matrices = 1024;

__global__ void turn_tile(std::uint32_t matrices, std::uint32_t rows, std::uint32_t columns, const float* in,
                          float* out, bool add) {
  STEELYARD_SHARED(float, kept, [tile][tile + 1]);  // one more: columns do not meet in a bank
  const unsigned x = threadIdx.x, first_row = blockIdx.y * tile, first_column = blockIdx.x * tile;
  for (std::uint32_t m = blockIdx.z; m < matrices; m += gridDim.z) {
    const std::uint64_t begin = std::uint64_t{m} * rows * columns;
    for (unsigned y = threadIdx.y; y < tile; y += rows_of_threads) {
      const unsigned row = first_row + y, column = first_column + x;
      if (row < rows && column < columns) kept[y][x] = in[begin + std::uint64_t{row} * columns + column];
    }
    __syncthreads();
    for (unsigned y = threadIdx.y; y < tile; y += rows_of_threads) {
      const unsigned row = first_row + x, column = first_column + y;
      if (row >= rows || column >= columns) continue;
      float& to = out[begin + std::uint64_t{column} * rows + row];
      to = add ? to + kept[x][y] : kept[x][y];
    }
    __syncthreads();
  }
}

}  // namespace

void turn(Stream& stream, std::uint32_t matrices, std::uint32_t rows, std::uint32_t columns, const float* in,
          float* out, bool add) {
  launch(stream, {groups_of(columns, tile), groups_of(rows, tile), std::min(matrices, most_matrices)},
         {tile, rows_of_threads}, &turn_tile, matrices, rows, columns, in, out, add);
}

}  // namespace steelyard::nn::cuda
