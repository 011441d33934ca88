#include "nn/cuda/array_kernels.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {

template <class T>
void add_arrays(Stream& stream, std::uint64_t n, const T* x, const T* y, T* to) {
  elementwise(stream, n, Sum(), to, x, y);
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
constexpr unsigned summing_warps = 16;

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
struct Itself : PlainColumns {
  static constexpr unsigned sums = 1;
  const T* in;
  template <unsigned n>
  __device__ void operator()(const Column<n>&, std::uint64_t, std::uint64_t at, Pack<n> (&own)[1]) const {
    const Pack<n> values = load<n>(in + at);
    for (unsigned k = 0; k < n; ++k) own[0].x[k] += values.x[k];
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

// Tokens are sorted 256 at a time, each by counting the smaller keys; then four sorted runs at a time are
// merged, until one is left. Keys are all different, so a key's place in a merged run is the number of
// smaller ones in all four.
constexpr unsigned sorted_tile = 256, merged = 4;

__global__ void sort_tile(const float* numbers, std::uint32_t tokens, std::uint32_t rows,
                          std::uint64_t* keys) {
  STEELYARD_SHARED(std::uint64_t, others, [sorted_tile]);
  const std::uint32_t begin = blockIdx.x * sorted_tile, token = begin + threadIdx.x;
  const bool exists = token < tokens;
  const std::uint64_t key = exists ? std::uint64_t{row_of(numbers[token], rows)} << 32 | token : ~0ULL;
  others[threadIdx.x] = key;
  __syncthreads();
  if (!exists) return;
  std::uint32_t before = 0;
  for (unsigned i = 0; i < sorted_tile; ++i) before += others[i] < key ? 1 : 0;
  keys[begin + before] = key;
}

// `run`: keys of a sorted run; 256 times a power of four.
__global__ void merge_runs(const std::uint64_t* from, std::uint64_t tokens, std::uint64_t run,
                           std::uint64_t* to) {
  const std::uint64_t i = thread_number();
  if (i >= tokens) return;
  const std::uint64_t key = from[i], first = i & ~(merged * run - 1);
  std::uint64_t place = first;
  for (unsigned r = 0; r < merged; ++r) {
    const std::uint64_t begin = first + r * run;
    std::uint64_t low = begin, high = begin + run < tokens ? begin + run : tokens;
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      if (from[middle] < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    place += low - begin;
  }
  to[place] = key;
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
  CHECK(rows <= one_stage_rows, "sums of many rows need two stages");
  launch(stream, groups_of(columns, 32), {32, summing_warps}, &sum_rows<T>, in, rows, columns, add, out);
}

std::uint64_t column_sums_workspace(std::uint64_t rows, std::uint32_t columns) {
  return sums_size(one_run(rows, columns));
}

template <class T>
void column_sums(Stream& stream, const T* in, std::uint64_t rows, std::uint32_t columns, bool add, float* out,
                 float* workspace) {
  constexpr std::uint64_t few = 512;
  if (rows <= few) return column_sums(stream, in, rows, columns, add, out);
  sum_packs(stream, one_run(rows, columns), Itself<T>{{}, in}, workspace, in);
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
                 std::uint64_t* keys, std::uint64_t* other) {
  unsigned merges = 0;
  for (std::uint64_t run = sorted_tile; run < tokens; run *= merged) ++merges;
  if (merges % 2 != 0) std::swap(keys, other);  // the last merge writes to the first argument
  launch(stream, groups_of(tokens, sorted_tile), sorted_tile, &sort_tile, numbers, tokens, rows, keys);
  for (std::uint64_t run = sorted_tile; run < tokens; run *= merged) {
    launch(stream, groups_of(tokens, sorted_tile), sorted_tile, &merge_runs, keys, tokens, run, other);
    std::swap(keys, other);
  }
}

#define STEELYARD_OF_TYPE(T)                                                                        \
  template void add_arrays(Stream&, std::uint64_t, const T*, const T*, T*);                         \
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
