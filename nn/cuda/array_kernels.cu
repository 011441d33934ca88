#include "nn/cuda/array_kernels.h"

#include <algorithm>

#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {

template <class T>
void add_up(Stream& stream, std::uint64_t n, const T* from, T* to) {
  const T* const before = to;
  elementwise(stream, n, Sum(), to, from, before);
}

template <class T>
void give(Stream& stream, std::uint64_t n, const T* from, bool add, T* to) {
  if (add) return add_up(stream, n, from, to);
  if (to != from) stream.copy_array(to, from, n);
}

namespace {

struct Copy {
  __device__ float operator()(std::uint64_t, float x) const { return x; }
};

template <class From, class To>
__global__ void add_to_rows(const From* bias, std::uint64_t rows, std::uint32_t columns, std::uint32_t row,
                            To* to) {
  const std::uint64_t i = thread_number(), r = i / columns, c = i % columns;
  if (r < rows) to[r * row + c] = to[r * row + c] + bias[c];
}

// A block takes 32 columns; its warps take rows in turn, so that each reads 32 neighbours at once, and add up
// their sums in shared memory.
constexpr unsigned summing_warps = 8;

template <class T>
__global__ void sum_rows(const T* in, std::uint64_t rows, std::uint32_t columns, bool add, float* out) {
  STEELYARD_SHARED(float, partial, [summing_warps][33]);
  const std::uint32_t column = blockIdx.x * 32 + threadIdx.x;
  float own = 0;
  for (std::uint64_t r = threadIdx.y; r < rows && column < columns; r += summing_warps)
    own += in[r * columns + column];
  partial[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  float all = add ? out[column] : 0;
  for (unsigned w = 0; w < summing_warps; ++w) all += partial[w][threadIdx.x];
  out[column] = all;
}

template <class T>
struct Itself {
  static constexpr unsigned sums = 1;
  const T* in;
  __device__ void operator()(unsigned, std::uint64_t, std::uint32_t, std::uint64_t at,
                             float (&own)[1]) const {
    own[0] += in[at];
  }
};

Runs one_run(std::uint64_t rows, std::uint32_t columns) { return {rows, rows, columns}; }

// Bound by memory; copies 16 bytes at once if both pictures allow it.
template <unsigned n, class T>
__global__ void copy_some(std::uint32_t all, std::uint64_t places, std::uint32_t count, const T* from,
                          std::uint32_t from_row, bool add, T* to, std::uint32_t to_row) {
  const unsigned i = n * thread_in_sample();
  if (i >= all) return;
  const unsigned place = i / count, column = i - place * count;
  const std::uint64_t row = blockIdx.y * places + place;
  store<n>(to + row * to_row + column, load<n>(from + row * from_row + column), add);
}

// A tile at a time through shared memory, so that reads and writes are both coalesced.
constexpr unsigned turned_tile = 32, rows_of_threads = 8, max_matrices = 1024;

template <class From, class To>
__global__ void turn_tile(std::uint32_t matrices, std::uint32_t rows, std::uint32_t columns, const From* in,
                          To* out, bool add) {
  STEELYARD_SHARED(float, kept, [turned_tile][turned_tile + 1]);  // one more: avoids bank conflicts of
                                                                  // columns
  const unsigned x = threadIdx.x, first_row = blockIdx.y * turned_tile,
                 first_column = blockIdx.x * turned_tile;
  for (std::uint32_t m = blockIdx.z; m < matrices; m += gridDim.z) {
    const std::uint64_t begin = std::uint64_t{m} * rows * columns;
    for (unsigned y = threadIdx.y; y < turned_tile; y += rows_of_threads) {
      const unsigned row = first_row + y, column = first_column + x;
      if (row < rows && column < columns) kept[y][x] = in[begin + std::uint64_t{row} * columns + column];
    }
    __syncthreads();
    for (unsigned y = threadIdx.y; y < turned_tile; y += rows_of_threads) {
      const unsigned row = first_row + x, column = first_column + y;
      if (row >= rows || column >= columns) continue;
      To& to = out[begin + std::uint64_t{column} * rows + row];
      to = add ? to + kept[x][y] : kept[x][y];
    }
    __syncthreads();
  }
}

// Each token counts those that come before it: tokens x tokens comparisons of integers, 256 from shared
// memory at a time. Negligible beside the rest of a network for the tens of thousands of tokens of a
// micro-batch.
constexpr unsigned sorting_threads = 256;

__global__ void count_before(const float* numbers, std::uint32_t tokens, std::uint32_t rows, Sorted sorted) {
  STEELYARD_SHARED(std::uint32_t, others, [sorting_threads]);
  const std::uint32_t own = blockIdx.x * sorting_threads + threadIdx.x;
  const std::uint32_t row = own < tokens ? row_of(numbers[own], rows) : 0;
  std::uint32_t before = 0;
  for (std::uint32_t first = 0; first < tokens; first += sorting_threads) {
    const std::uint32_t other = first + threadIdx.x;
    others[threadIdx.x] = other < tokens ? row_of(numbers[other], rows) : 0xFFFFFFFF;
    __syncthreads();
    for (unsigned i = 0; i < sorting_threads; ++i)
      before += others[i] < row || (others[i] == row && first + i < own) ? 1 : 0;
    __syncthreads();
  }
  if (own >= tokens) return;
  sorted.rows[before] = row;
  sorted.tokens[before] = own;
}

}  // namespace

template <class From, class To>
void cast(Stream& stream, std::uint64_t n, const From* from, bool add, To* to) {
  const To* const before = to;
  if (add) return elementwise(stream, n, Sum(), to, from, before);
  elementwise(stream, n, Copy(), to, from);
}

template <class From, class To>
void add_bias(Stream& stream, const From* bias, std::uint64_t rows, std::uint32_t columns, std::uint32_t row,
              To* to) {
  launch(stream, groups_of(rows * columns, 256), 256, &add_to_rows<From, To>, bias, rows, columns, row, to);
}

template <class T>
void column_sums(Stream& stream, const T* in, std::uint64_t rows, std::uint32_t columns, bool add,
                 float* out) {
  launch(stream, groups_of(columns, 32), {32, summing_warps}, &sum_rows<T>, in, rows, columns, add, out);
}

std::uint64_t column_sums_workspace(std::uint64_t rows, std::uint32_t columns) {
  return sums_size(one_run(rows, columns));
}

template <class T>
void column_sums(Stream& stream, const T* in, std::uint64_t rows, std::uint32_t columns, bool add, float* out,
                 float* workspace) {
  sum_columns(stream, one_run(rows, columns), Itself<T>{in}, workspace);
  column_sums<float>(stream, workspace, pieces_of(one_run(rows, columns)), columns, add, out);
}

template <class T>
void copy_columns(Stream& stream, const Columns& columns, const T* from, std::uint32_t from_row, bool add,
                  T* to, std::uint32_t to_row) {
  const std::uint64_t all = columns.places * columns.count;
  with_packs(can_pack(columns.count | from_row | to_row, from, to), [&](auto n) {
    launch_in_samples(stream, columns.samples, all / n, &copy_some<n, T>, all, columns.places, columns.count,
                      from, from_row, add, to, to_row);
  });
}

template <class From, class To>
void turn(Stream& stream, std::uint32_t matrices, std::uint32_t rows, std::uint32_t columns, const From* in,
          To* out, bool add) {
  launch(stream,
         {groups_of(columns, turned_tile), groups_of(rows, turned_tile), std::min(matrices, max_matrices)},
         {turned_tile, rows_of_threads}, &turn_tile<From, To>, matrices, rows, columns, in, out, add);
}

void sort_tokens(Stream& stream, const float* numbers, std::uint32_t tokens, std::uint32_t rows,
                 Sorted sorted) {
  launch(stream, groups_of(tokens, sorting_threads), sorting_threads, &count_before, numbers, tokens, rows,
         sorted);
}

#define STEELYARD_OF_TYPE(T)                                                                        \
  template void add_up(Stream&, std::uint64_t, const T*, T*);                                       \
  template void give(Stream&, std::uint64_t, const T*, bool, T*);                                   \
  template void column_sums(Stream&, const T*, std::uint64_t, std::uint32_t, bool, float*);         \
  template void column_sums(Stream&, const T*, std::uint64_t, std::uint32_t, bool, float*, float*); \
  template void copy_columns(Stream&, const Columns&, const T*, std::uint32_t, bool, T*, std::uint32_t);
#define STEELYARD_OF_TYPES(From, To)                                                              \
  template void cast(Stream&, std::uint64_t, const From*, bool, To*);                             \
  template void add_bias(Stream&, const From*, std::uint64_t, std::uint32_t, std::uint32_t, To*); \
  template void turn(Stream&, std::uint32_t, std::uint32_t, std::uint32_t, const From*, To*, bool);
STEELYARD_OF_TYPE(float)
STEELYARD_OF_TYPE(Bf16)
STEELYARD_OF_TYPES(float, float)
STEELYARD_OF_TYPES(float, Bf16)
STEELYARD_OF_TYPES(Bf16, float)
STEELYARD_OF_TYPES(Bf16, Bf16)
#undef STEELYARD_OF_TYPE
#undef STEELYARD_OF_TYPES

}  // namespace steelyard::nn::cuda
