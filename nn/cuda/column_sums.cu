// A block takes 32 columns; its warps take rows in turn, so that each reads 32 neighbours at once, and meet
// in shared memory.
#include "nn/cuda/column_sums.h"

#include "nn/cuda/by_columns.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned warps = 8;

__global__ void sum(const float* in, std::uint64_t rows, std::uint32_t columns, bool add, float* out) {
  STEELYARD_SHARED(float, partial, [warps][33]);
  const std::uint32_t column = blockIdx.x * 32 + threadIdx.x;
  float own = 0;
  for (std::uint64_t r = threadIdx.y; r < rows && column < columns; r += warps)
    own += in[r * columns + column];
  partial[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  float all = add ? out[column] : 0;
  for (unsigned w = 0; w < warps; ++w) all += partial[w][threadIdx.x];
  out[column] = all;
}

struct Itself {
  static constexpr unsigned sums = 1;
  const float* in;
  __device__ void operator()(unsigned, std::uint64_t, std::uint32_t, std::uint64_t at,
                             float (&own)[1]) const {
    own[0] += in[at];
  }
};

Runs one_run(std::uint64_t rows, std::uint32_t columns) { return {rows, rows, columns}; }

}  // namespace

void column_sums(Stream& stream, const float* in, std::uint64_t rows, std::uint32_t columns, bool add,
                 float* out) {
  launch(stream, groups_of(columns, 32), {32, warps}, &sum, in, rows, columns, add, out);
}

std::uint64_t column_sums_workspace(std::uint64_t rows, std::uint32_t columns) {
  return sums_size(one_run(rows, columns));
}

void column_sums(Stream& stream, const float* in, std::uint64_t rows, std::uint32_t columns, bool add,
                 float* out, float* workspace) {
  sum_columns(stream, one_run(rows, columns), Itself{in}, workspace);
  column_sums(stream, workspace, pieces_of(one_run(rows, columns)), columns, add, out);
}

}  // namespace steelyard::nn::cuda
