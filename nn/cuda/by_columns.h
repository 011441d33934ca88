// Kernels over the rows of a matrix [row][column] where each column has numbers of its own: what norms and
// gradients of biases are made of. Rows are in runs (the samples that a batch norm takes together, the
// places of one sample): sums are of one run and one column.
//
//   sum_columns    for each run and column, sums over pieces of the run's rows: the first of two stages, so
//                  that a device is busy also where there are few columns
//   sweep_columns  visits each number, up to four neighbours at a time, with what its column needs at hand
//
// Neighbouring threads take neighbouring columns. Where there are fewer than 32, a warp takes several rows.
// How a run is cut depends on its rows and columns only, and so does the order of the sums.
#pragma once

#include "nn/cuda/pack.h"

namespace steelyard::nn::cuda {

struct Runs {
  std::uint64_t rows;  // of all runs
  std::uint64_t each;  // rows of a run; the last one may be shorter
  std::uint32_t columns;

  [[nodiscard]] constexpr unsigned count() const { return groups_of(rows, each); }
};

constexpr unsigned column_threads = 256;

// Columns that a block takes side by side: a power of two up to 32.
constexpr unsigned columns_of_block(std::uint32_t columns) {
  unsigned width = 1;
  while (width < 32 && width < columns) width *= 2;
  return width;
}

// Into how many pieces each run is cut: 16 rows to a thread at least, and 512 blocks for a run at the most.
constexpr unsigned pieces_of(const Runs& runs) {
  const unsigned width = columns_of_block(runs.columns), blocks = groups_of(runs.columns, width);
  const unsigned pieces = groups_of(runs.each, 16 * (column_threads / width));
  const unsigned most = blocks < 512 ? 512 / blocks : 1;
  return pieces < most ? pieces : most;
}

// Sums over pieces lie as [sum][run][piece][column]. Floats of one of the sums.
constexpr std::uint64_t sums_size(const Runs& runs) {
  return std::uint64_t{runs.count()} * pieces_of(runs) * runs.columns;
}

template <class F>
__global__ void sum_pieces(F f, Runs runs, unsigned width, std::uint64_t rows_of_piece, float* out) {
  STEELYARD_SHARED(float, partial, [F::sums][column_threads / 32][32]);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, lanes = column_threads / width;
  const std::uint32_t column = blockIdx.x * width + threadIdx.x % width;
  const std::uint64_t begin = blockIdx.z * runs.each, begin_of_piece = begin + blockIdx.y * rows_of_piece;
  std::uint64_t end = begin_of_piece + rows_of_piece;
  if (end > begin + runs.each) end = begin + runs.each;
  if (end > runs.rows) end = runs.rows;
  float own[F::sums] = {};
  if (column < runs.columns) {
    for (std::uint64_t r = begin_of_piece + threadIdx.x / width; r < end; r += lanes) {
      f(blockIdx.z, r, column, r * runs.columns + column, own);
    }
  }
  for (unsigned s = 0; s < F::sums; ++s) {
    for (unsigned mask = width; mask < 32; mask *= 2) own[s] += __shfl_xor_sync(all_lanes, own[s], mask);
    partial[s][warp][lane] = own[s];
  }
  __syncthreads();
  if (threadIdx.x >= width || column >= runs.columns) return;
  const std::uint64_t piece = std::uint64_t{blockIdx.z} * gridDim.y + blockIdx.y;
  const std::uint64_t size = std::uint64_t{gridDim.z} * gridDim.y * runs.columns;
  for (unsigned s = 0; s < F::sums; ++s) {
    float sum = 0;
    for (unsigned w = 0; w < column_threads / 32; ++w) sum += partial[s][w][threadIdx.x];
    out[s * size + piece * runs.columns + column] = sum;
  }
}

// F has `static constexpr unsigned sums` and adds one number of the matrix to them:
//   __device__ void operator()(unsigned run, std::uint64_t row, std::uint32_t column, std::uint64_t at,
//                              float (&sums)[F::sums]) const
// where `at` is its place in the matrix. out: F::sums times sums_size() floats.
template <class F>
void sum_columns(Stream& stream, const Runs& runs, F f, float* out) {
  const unsigned width = columns_of_block(runs.columns), pieces = pieces_of(runs);
  launch(stream, {groups_of(runs.columns, width), pieces, runs.count()}, column_threads, &sum_pieces<F>, f,
         runs, width, std::uint64_t{groups_of(runs.each, pieces)}, out);
}

// For sweeps that need nothing of a column but its number.
template <unsigned n>
struct Column {
  std::uint32_t number;
};
struct PlainColumns {
  template <unsigned n>
  __device__ Column<n> of_column(unsigned, std::uint32_t column) const {
    return {column};
  }
};

constexpr unsigned rows_of_sweep = 4;  // of a thread

template <unsigned n, class F>
__global__ void sweep(F f, Runs runs, unsigned width) {
  const std::uint32_t column = n * (blockIdx.y * width + threadIdx.x % width);
  if (column >= runs.columns) return;
  const auto of_column = f.template of_column<n>(blockIdx.z, column);
  const unsigned lanes = column_threads / width;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * rows_of_sweep * lanes + threadIdx.x / width;
  for (unsigned i = 0; i < rows_of_sweep; ++i) {
    const std::uint64_t in_run = first + i * lanes, row = blockIdx.z * runs.each + in_run;
    if (in_run < runs.each && row < runs.rows) f(of_column, row, row * runs.columns + column);
  }
}

// F has two functions, for n neighbours of a row (1 or 4):
//   template <unsigned n> __device__ X<n> of_column(unsigned run, std::uint32_t column) const
//   template <unsigned n> __device__ void operator()(const X<n>&, std::uint64_t row, std::uint64_t at) const
// `matrices` are all that it fetches or writes by fours, null where there is none.
template <class F, class... Matrices>
void sweep_columns(Stream& stream, const Runs& runs, F f, const Matrices*... matrices) {
  const bool fours = runs.columns % 4 == 0 && ((reinterpret_cast<std::uintptr_t>(matrices) % 16 == 0) && ...);
  const std::uint32_t columns = fours ? runs.columns / 4 : runs.columns;
  const unsigned width = columns_of_block(columns);
  const unsigned blocks = groups_of(runs.each, rows_of_sweep * (column_threads / width));
  launch(stream, {blocks, groups_of(columns, width), runs.count()}, column_threads,
         fours ? &sweep<4, F> : &sweep<1, F>, f, runs, width);
}

}  // namespace steelyard::nn::cuda
