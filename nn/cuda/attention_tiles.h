// Products of tiles of tokens x features, in shared memory and registers, for attention.cu. Groups of tokens
// that do not exist are skipped.
#pragma once

#include <cstdint>

#include "nn/cuda/kernel.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {

// A block has 16 x 16 threads. Its tile has 16 `each` tokens: `each` rows, and as many columns, per thread.
constexpr unsigned side = 16;
constexpr unsigned strip = 32, pitch = strip + 4;  // features at once; avoids bank conflicts of rows

// A row per token.
template <class T>
struct Matrix {
  const T* first;
  std::uint64_t row;  // numbers from one to the next
};

struct Sizes {
  std::uint32_t tokens, features, length;  // features of all heads, and of one
  bool causal;
  float scale;
  bool fours = false;  // heads are whole packs of four numbers, in all arrays

  // Begins of the block's sample and head: in queries, keys or values (0, 1, 2), in the result, and in arrays
  // with one number per query.
  __device__ std::uint64_t part(unsigned part) const {
    return (std::uint64_t{blockIdx.z} * tokens * 3 + part) * features + std::uint64_t{blockIdx.y} * length;
  }
  __device__ std::uint64_t result() const {
    return std::uint64_t{blockIdx.z} * tokens * features + std::uint64_t{blockIdx.y} * length;
  }
  __device__ std::uint64_t queries() const {
    return (std::uint64_t{blockIdx.z} * gridDim.y + blockIdx.y) * tokens;
  }
  template <class T>
  __device__ Matrix<T> rows(const T* x, unsigned of) const {
    return {x + part(of), 3 * features};
  }
  __device__ bool sees(std::uint32_t query, std::uint32_t key) const {
    return key < tokens && (!causal || key <= query);
  }
};

// The part of a tile that exists: groups of 16 tokens, rounded up to a power of two.
struct Part {
  std::uint32_t begin;
  unsigned groups;
};
template <unsigned each>
__device__ Part part_of_tile(const Sizes& sizes, std::uint32_t begin) {
  const std::uint32_t rest = sizes.tokens - begin;
  return {begin, rest <= side ? 1 : rest <= 2 * side && each > 2 ? 2 : each};
}

// Calls `call` with the number of groups as a constant.
template <unsigned each, class Call>
__device__ void with_groups(unsigned groups, Call call) {
  if (groups == each) return call(std::integral_constant<unsigned, each>());
  if constexpr (each > 1) with_groups<each / 2>(groups, call);
}

// The shared memory of a block.
template <unsigned each>
struct alignas(16) Space {
  float x[2 * side * each * pitch];
};
template <unsigned each>
struct alignas(16) Weights {
  float x[side * each][side * each + 4];
};

// Loads `columns` columns of a part's rows; zero outside the tokens or features.
template <class T>
__device__ void fetch(const Matrix<T>& from, const Sizes& sizes, const Part& part, std::uint32_t feature,
                      unsigned columns, unsigned to_row, float* to) {
  const unsigned thread = threadIdx.y * side + threadIdx.x, rows = side * part.groups;
  if (sizes.fours) {
    const unsigned packs = columns / 4;
    for (unsigned i = thread; i < rows * packs; i += side * side) {
      const std::uint32_t token = part.begin + i / packs, f = feature + i % packs * 4;
      Pack<4> values{};
      if (token < sizes.tokens && f < sizes.length) values = load<4>(from.first + token * from.row + f);
      store(to + i / packs * to_row + i % packs * 4, values);
    }
    return;
  }
  for (unsigned i = thread; i < rows * columns; i += side * side) {
    const std::uint32_t token = part.begin + i / columns, f = feature + i % columns;
    const bool inside = token < sizes.tokens && f < sizes.length;
    to[i / columns * to_row + i % columns] = inside ? float{from.first[token * from.row + f]} : 0;
  }
}

// sums[i][j] += sum over the strip's features f of a[row i][f] b[row j][f], for rows y + 16 i of a's part and
// x + 16 j of b's.
template <unsigned rows, unsigned columns, unsigned each>
__device__ void multiply_strip(const float* a, const float* b, float (&sums)[each][each]) {
  for (unsigned f = 0; f < strip; f += 4) {
    Pack<4> of_a[rows], of_b[columns];
    for (unsigned i = 0; i < rows; ++i) of_a[i] = load<4>(a + (threadIdx.y + side * i) * pitch + f);
    for (unsigned j = 0; j < columns; ++j) of_b[j] = load<4>(b + (threadIdx.x + side * j) * pitch + f);
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned j = 0; j < columns; ++j)
        for (unsigned k = 0; k < 4; ++k) sums[i][j] += of_a[i].x[k] * of_b[j].x[k];
  }
}

// sums[i][j] = sum over all features of a[row i] b[row j]; zero outside the parts.
template <unsigned each, class T>
__device__ void multiply(const Matrix<T>& a, const Part& a_part, const Matrix<T>& b, const Part& b_part,
                         const Sizes& sizes, Space<each>& space, float (&sums)[each][each]) {
  float *const of_a = space.x, *const of_b = space.x + side * each * pitch;
  for (unsigned i = 0; i < each; ++i)
    for (unsigned j = 0; j < each; ++j) sums[i][j] = 0;
  for (std::uint32_t feature = 0; feature < sizes.length; feature += strip) {
    fetch(a, sizes, a_part, feature, strip, pitch, of_a);
    fetch(b, sizes, b_part, feature, strip, pitch, of_b);
    __syncthreads();
    with_groups<each>(a_part.groups, [&](auto rows) {
      with_groups<each>(b_part.groups, [&](auto columns) {
        multiply_strip<decltype(rows)::value, decltype(columns)::value>(of_a, of_b, sums);
      });
    });
    __syncthreads();
  }
}

// A row of features for each of a thread's tokens y + 16 i: from each strip of 16 n features, n from n x on.
template <unsigned each, unsigned n, unsigned strips>
struct Result {
  float x[each][strips][n] = {};

  __device__ void scale(unsigned i, float by) {
    for (unsigned s = 0; s < strips; ++s)
      for (unsigned c = 0; c < n; ++c) x[i][s][c] *= by;
  }

  // Adds the sum over j of weights[row][j] b[j], to `groups` groups of rows. One instantiation per strip:
  // with a loop index the result would not stay in registers.
  template <unsigned s = 0, class T>
  __device__ void add(const Weights<each>& weights, unsigned groups, const Matrix<T>& b, const Part& b_part,
                      const Sizes& sizes, Space<each>& space) {
    constexpr unsigned width = side * n;
    fetch(b, sizes, b_part, s * width, width, width, space.x);
    __syncthreads();
    with_groups<each>(groups, [&](auto rows) {
      this->template add_strip<s, decltype(rows)::value>(weights, side * b_part.groups, space.x);
    });
    __syncthreads();
    if constexpr (s + 1 < strips) add<s + 1>(weights, groups, b, b_part, sizes, space);
  }

  template <unsigned s, unsigned rows>
  __device__ void add_strip(const Weights<each>& weights, unsigned tokens, const float* b) {
    for (unsigned j = 0; j < tokens; j += 4) {
      Pack<n> columns[4];
      for (unsigned k = 0; k < 4; ++k) columns[k] = load<n>(b + (j + k) * side * n + n * threadIdx.x);
      for (unsigned i = 0; i < rows; ++i) {
        const Pack<4> row = load<4>(&weights.x[threadIdx.y + side * i][j]);
        for (unsigned k = 0; k < 4; ++k)
          for (unsigned c = 0; c < n; ++c) x[i][s][c] += row.x[k] * columns[k].x[c];
      }
    }
  }

  template <class T>
  __device__ void store(std::uint32_t begin, const Sizes& sizes, T* to, std::uint64_t row,
                        bool add_to) const {
    for (unsigned i = 0; i < each; ++i) {
      const std::uint32_t token = begin + threadIdx.y + side * i;
      if (token >= sizes.tokens) return;
      for (unsigned s = 0; s < strips; ++s) {
        const std::uint32_t f = (s * side + threadIdx.x) * n;
        T* const at = to + token * row + f;
        Pack<n> pack;
        for (unsigned c = 0; c < n; ++c) pack.x[c] = x[i][s][c];
        if (!sizes.fours) {
          for (unsigned c = 0; c < n; ++c)
            if (f + c < sizes.length) at[c] = add_to ? at[c] + pack.x[c] : pack.x[c];
        } else if (f < sizes.length) {
          cuda::store<n>(at, pack, add_to);
        }
      }
    }
  }
};

// Combines over the 16 threads that share rows.
template <class Combine>
__device__ float over_row(float value, Combine combine) {
  for (unsigned mask = side / 2; mask > 0; mask /= 2)
    value = combine(value, __shfl_xor_sync(all_lanes, value, mask));
  return value;
}

}  // namespace steelyard::nn::cuda
