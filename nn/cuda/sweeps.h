// How kernels traverse arrays if they need only the place, sample, channel or column of a number:
//
//   elementwise        out[i] = f(i, in[i]...)
//   launch_in_samples  one thread for a few neighbouring numbers of a sample
//   by_channel         out[s][p][c] = f(numbers[s][c], in[s][p][c]...)
//   channel_sums       out[s][c] = share * sum over p of f(in[s][p][c]...)   (+ out[s][c], with `add`)
//   sum_packs          sums over the rows of a matrix, for each column and each run of rows
//   sweep_columns      visits each number of a matrix, with data of its column in registers
//
// `F` is a struct with a __device__ operator(). Numbers are float or Bf16 in memory, and float in registers.
// They are processed in packs of 16 bytes of the shortest type, if rows begin at multiples of 16 bytes;
// otherwise one by one. All places of a plan begin there. Parameters do behind tensors of whole packs only,
// so they decide nothing where they are few (load_anywhere).
#pragma once

#include <algorithm>

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {

// ---- packs

// Numbers in a pack of several arrays of these types.
template <class... T>
constexpr unsigned longest_pack = std::max({pack_of<T>...});

// Whether `count` numbers in a row are whole packs of n, at each of these addresses.
template <unsigned n, class... T>
bool are_packs_of(std::uint64_t count, const T*... at) {
  return count % n == 0 && ((reinterpret_cast<std::uintptr_t>(at) % aligned_to<n, T> == 0) && ...);
}

// Packs of n numbers, or of one.
template <unsigned n>
struct Packing {
  bool packed;
  explicit operator bool() const { return packed; }
};
template <class... T>
Packing<longest_pack<T...>> can_pack(std::uint64_t count, const T*... at) {
  return {are_packs_of<longest_pack<T...>>(count, at...)};
}

// Calls `call` with the size of a pack as a constant.
template <unsigned n, class Call>
void with_packs(Packing<n> packing, Call call) {
  if (packing.packed) {
    call(std::integral_constant<unsigned, n>());
  } else {
    call(std::integral_constant<unsigned, 1>());
  }
}

// ---- numbers processed independently
//
//   elementwise(stream, n, Relu{}, output, input);
//
// F has `__device__ float operator()(std::uint64_t i, float a...) const`. Output and inputs may be the same
// buffer.

struct Sum {
  __device__ float operator()(std::uint64_t, float a, float b) const { return a + b; }
};

template <unsigned n, class F, class Out, class... In>
__global__ void by_packs(std::uint64_t end, F f, Out* out, const In*... in) {
  const std::uint64_t i = n * thread_number();
  if (i >= end) return;
  const auto compute = [&](const auto&... packs) {
    Pack<n> result;
    for (unsigned k = 0; k < n; ++k) result.x[k] = f(i + k, packs.x[k]...);
    return result;
  };
  store<n>(out + i, compute(load<n>(in + i)...));
}

template <class F, class Out, class... In>
__global__ void one_by_one(std::uint64_t begin, std::uint64_t n, F f, Out* out, const In*... in) {
  const std::uint64_t i = begin + thread_number();
  if (i < n) out[i] = f(i, in[i]...);
}

template <class F, class Out, class... In>
void elementwise(Stream& stream, std::uint64_t n, F f, Out* out, const In*... in) {
  constexpr unsigned threads = 256, pack = longest_pack<Out, In...>;
  const std::uint64_t packs = can_pack(0, out, in...).packed ? n / pack : 0;
  if (packs > 0) {
    launch(stream, groups_of(packs, threads), threads, &by_packs<pack, F, Out, In...>, pack * packs, f, out,
           in...);
  }
  const std::uint64_t rest = n - pack * packs;
  if (rest > 0) {
    launch(stream, groups_of(rest, threads), threads, &one_by_one<F, Out, In...>, pack * packs, n, f, out,
           in...);
  }
}

// ---- one thread for a few neighbouring numbers of a sample
//
//   with_packs(can_pack(channels, in, out), [&](auto n) {
//     launch_in_samples(stream, samples, numbers_of_a_sample / n, &kernel<n, T>, arguments...);
//   });
//
// A kernel gets its sample from blockIdx.y and its place in the sample from thread_in_sample(), which has 32
// bits: a 64-bit division costs a GPU more than the memory traffic of most ops. Threads beyond the last place
// exist and must return.

template <class... Parameters, class... Arguments>
void launch_in_samples(Stream& stream, std::uint32_t samples, std::uint64_t places,
                       void (*kernel)(Parameters...), Arguments&&... arguments) {
  const unsigned threads = places < 256 ? 32 * groups_of(places, 32) : 256;  // few idle ones in small samples
  launch(stream, {groups_of(places, threads), samples}, threads, kernel, arguments...);
}

__device__ inline unsigned thread_in_sample() { return blockIdx.x * blockDim.x + threadIdx.x; }

// ---- numbers of a sample's channels combined with the numbers at each place
//
// F has `__device__ float operator()(float...) const`. by_channel may write into one of its inputs. In sums
// each thread has one channel, neighbours side by side, and traverses the places without a barrier.

struct Places {
  std::uint32_t samples;
  std::uint64_t each;  // places of a sample
  std::uint32_t channels;
};

template <unsigned n, class F, class T, class... In>
__global__ void use_by_channel(std::uint32_t all, std::uint32_t channels, F f, const T* numbers, T* out,
                               const In*... in) {
  const unsigned i = n * thread_in_sample();
  if (i >= all) return;
  const std::uint64_t sample = blockIdx.y, at = sample * all + i;
  const Pack<n> number = load<n>(numbers + sample * channels + i % channels);
  const auto compute = [&](const auto&... packs) {
    Pack<n> result;
    for (unsigned k = 0; k < n; ++k) result.x[k] = f(number.x[k], packs.x[k]...);
    return result;
  };
  store<n>(out + at, compute(load<n>(in + at)...));
}

template <class F, class T, class... In>
__global__ void sum_by_channel(std::uint64_t places, std::uint32_t channels, F f, float share, bool add,
                               T* out, const In*... in) {
  const unsigned c = thread_in_sample();
  if (c >= channels) return;
  const std::uint64_t sample = blockIdx.y, first = sample * places * channels + c;
  float sum = 0;
  for (std::uint64_t p = 0; p < places; ++p) sum += f(in[first + p * channels]...);
  T& to = out[sample * channels + c];
  to = share * sum + (add ? float{to} : 0);
}

template <class F, class T, class... In>
void by_channel(Stream& stream, Places places, F f, const T* numbers, T* out, const In*... in) {
  const std::uint64_t all = places.each * places.channels;
  with_packs(can_pack(places.channels, numbers, out, in...), [&](auto n) {
    launch_in_samples(stream, places.samples, all / n, &use_by_channel<n, F, T, In...>, all, places.channels,
                      f, numbers, out, in...);
  });
}

template <class F, class T, class... In>
void channel_sums(Stream& stream, Places places, F f, float share, bool add, T* out, const In*... in) {
  launch_in_samples(stream, places.samples, places.channels, &sum_by_channel<F, T, In...>, places.each,
                    places.channels, f, share, add, out, in...);
}

// ---- the rows of a matrix [row][column] with data per column: for norms and gradients of biases
//
// Rows form runs (the samples that a batch norm groups, the places of one sample). Sums are per run and
// column, over pieces of the run's rows. This is the first of two stages, so that a device is busy even with
// few columns. Neighbouring threads take neighbouring columns; with fewer than 32 columns, a warp takes
// several rows. The division of a run depends only on its rows and columns, and so does the order of the
// sums.

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

// The number of pieces per run: with packs of four at least 16 rows per thread, and at most 1024 blocks per
// run. It is the same for all packs: it also decides how large a workspace is.
constexpr unsigned pieces_of(const Runs& runs) {
  const std::uint32_t columns = runs.columns % 4 == 0 ? runs.columns / 4 : runs.columns;
  const unsigned width = columns_of_block(columns), blocks = groups_of(columns, width);
  const unsigned pieces = groups_of(runs.each, 16 * (column_threads / width));
  const unsigned max = blocks < 1024 ? 1024 / blocks : 1;
  return pieces < max ? pieces : max;
}

// Sums over pieces are stored as [sum][run][piece][column]. Returns the floats of one of the sums.
constexpr std::uint64_t sums_size(const Runs& runs) {
  return std::uint64_t{runs.count()} * pieces_of(runs) * runs.columns;
}

template <unsigned n, class F>
__global__ void sum_pieces(F f, Runs runs, unsigned width, std::uint64_t rows_of_piece, float* out) {
  STEELYARD_SHARED(Pack<n>, partial, [F::sums][column_threads / 32][32]);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, lanes = column_threads / width;
  const std::uint32_t column = n * (blockIdx.x * width + threadIdx.x % width);
  const std::uint64_t begin = blockIdx.z * runs.each, begin_of_piece = begin + blockIdx.y * rows_of_piece;
  std::uint64_t end = begin_of_piece + rows_of_piece;
  if (end > begin + runs.each) end = begin + runs.each;
  if (end > runs.rows) end = runs.rows;
  Pack<n> own[F::sums] = {};
  if (column < runs.columns) {
    const auto of_column = f.template of_column<n>(blockIdx.z, column);
    for (std::uint64_t r = begin_of_piece + threadIdx.x / width; r < end; r += lanes)
      f(of_column, r, r * runs.columns + column, own);
  }
  for (unsigned s = 0; s < F::sums; ++s) {
    for (unsigned k = 0; k < n; ++k) {
      for (unsigned mask = width; mask < 32; mask *= 2)
        own[s].x[k] += __shfl_xor_sync(all_lanes, own[s].x[k], mask);
    }
    partial[s][warp][lane] = own[s];
  }
  __syncthreads();
  if (threadIdx.x >= width || column >= runs.columns) return;
  const std::uint64_t piece = std::uint64_t{blockIdx.z} * gridDim.y + blockIdx.y;
  const std::uint64_t size = std::uint64_t{gridDim.z} * gridDim.y * runs.columns;
  for (unsigned s = 0; s < F::sums; ++s) {
    Pack<n> sum{};
    for (unsigned w = 0; w < column_threads / 32; ++w) {
      for (unsigned k = 0; k < n; ++k) sum.x[k] += partial[s][w][threadIdx.x].x[k];
    }
    store<n>(out + s * size + piece * runs.columns + column, sum);
  }
}

// For an F that needs only a column's number.
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

// F has `static constexpr unsigned sums` and two functions, for n neighbours of a row (1, 4 or 8):
//   template <unsigned n> __device__ X<n> of_column(unsigned run, std::uint32_t column) const
//   template <unsigned n> __device__ void operator()(const X<n>&, std::uint64_t row, std::uint64_t at,
//                                                    Pack<n> (&sums)[F::sums]) const
// where `at` is the place of the first in the matrix. `matrices`: all that it loads or stores in packs; may
// be null. out: F::sums times sums_size() floats.
template <class F, class... Matrices>
void sum_packs(Stream& stream, const Runs& runs, F f, float* out, const Matrices*... matrices) {
  with_packs(can_pack(runs.columns, out, matrices...), [&](auto n) {
    const std::uint32_t columns = runs.columns / n;
    const unsigned width = columns_of_block(columns), pieces = pieces_of(runs);
    launch(stream, {groups_of(columns, width), pieces, runs.count()}, column_threads, &sum_pieces<n, F>, f,
           runs, width, std::uint64_t{groups_of(runs.each, pieces)}, out);
  });
}

constexpr unsigned rows_of_sweep = 4;  // per thread

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

// F has two functions, for n neighbours of a row (1, 4 or 8):
//   template <unsigned n> __device__ X<n> of_column(unsigned run, std::uint32_t column) const
//   template <unsigned n> __device__ void operator()(const X<n>&, std::uint64_t row, std::uint64_t at) const
// `matrices`: all that it loads or stores in packs; may be null.
template <class F, class... Matrices>
void sweep_columns(Stream& stream, const Runs& runs, F f, const Matrices*... matrices) {
  with_packs(can_pack(runs.columns, matrices...), [&](auto n) {
    const std::uint32_t columns = runs.columns / n;
    const unsigned width = columns_of_block(columns);
    const unsigned blocks = groups_of(runs.each, rows_of_sweep * (column_threads / width));
    launch(stream, {blocks, groups_of(columns, width), runs.count()}, column_threads, &sweep<n, F>, f, runs,
           width);
  });
}
}  // namespace steelyard::nn::cuda
