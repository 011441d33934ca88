// Included by every file with kernels. Kernels are plain CUDA C++; two constructs without a C++ syntax use
// the following, so that g++ compiles the same files for the host executor (nn/cuda/host/executor.h):
//
//   launch(stream, grid, block, kernel, arguments...)   instead of kernel<<<grid, block, 0, stream>>>(...)
//   STEELYARD_SHARED(float, tile, [32][33]);             instead of __shared__ float tile[32][33];
//
// Rules for kernels: no static variables, no atomics on floats (equal pieces must give equal bits), arguments
// by value, no bulk copies and no tensor cores (the executor has none). A template parameter that changes the
// shape of a shared array must give a separate array in each instance.
#pragma once

#include <cstdint>
#include <type_traits>

#include "nn/cuda/bf16.h"
#include "nn/cuda/runtime.h"

#if defined(__CUDACC__)

#include "nn/cuda/device/native.h"

#define STEELYARD_SHARED(type, name, extent) __shared__ type name extent

namespace steelyard::nn::cuda {

using Extent = dim3;

template <class... Parameters, class... Arguments>
void launch(Stream& stream, Extent grid, Extent block, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  kernel<<<grid, block, 0, native(stream)>>>(static_cast<Parameters>(arguments)...);
  check_launch();
}

}  // namespace steelyard::nn::cuda

#else

#include "nn/cuda/host/host_kernel.h"

namespace steelyard::nn::cuda {

template <class... Parameters, class... Arguments>
void launch(Stream& stream, Extent grid, Extent block, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  const auto run = [=](std::decay_t<Parameters>... values) {
    host::Executor::mine().run(grid, block, [&] { kernel(values...); });
  };
  stream.add(
      [=, values = std::tuple<std::decay_t<Parameters>...>(arguments...)] { std::apply(run, values); });
}

}  // namespace steelyard::nn::cuda

#endif

namespace steelyard::nn::cuda {

constexpr unsigned all_lanes = 0xFFFFFFFF;

// How many groups of `each` hold `n`.
constexpr unsigned groups_of(std::uint64_t n, std::uint64_t each) {
  return static_cast<unsigned>((n + each - 1) / each);
}

// The number of the calling thread in a grid of one dimension.
__device__ inline std::uint64_t thread_number() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// The row of a table that a number selects. Invalid numbers select row 0.
__device__ inline std::uint32_t row_of(float number, std::uint32_t rows) {
  return number >= 0 && number < static_cast<float>(rows) ? static_cast<std::uint32_t>(number) : 0;
}

// ---- packs: neighbouring numbers that are loaded and stored together, aligned to their size, up to 16
// bytes. In registers they are floats; in memory also Bf16.

constexpr unsigned pack_bytes = 16;
// Numbers of a full pack.
template <class T>
constexpr unsigned pack_of = pack_bytes / sizeof(T);
// The alignment of a pack of n numbers, in bytes.
template <unsigned n, class T>
constexpr unsigned aligned_to = n * sizeof(T) < pack_bytes ? n * sizeof(T) : pack_bytes;

template <unsigned n>
struct alignas(aligned_to<n, float>) Pack {
  float x[n];
};
template <unsigned n>
__device__ Pack<n> load(const float* at) {
  return *reinterpret_cast<const Pack<n>*>(at);
}
template <unsigned n>
__device__ void store(float* at, const Pack<n>& pack) {
  *reinterpret_cast<Pack<n>*>(at) = pack;
}

// Two in a word, so that a device moves 16 bytes at once.
template <unsigned n>
struct alignas(aligned_to<n, Bf16>) Pairs {
  std::uint32_t x[n / 2];
};
template <unsigned n>
__device__ Pack<n> load(const Bf16* at) {
  Pack<n> pack;
  if constexpr (n == 1) {
    pack.x[0] = *at;
  } else {
    const Pairs<n> pairs = *reinterpret_cast<const Pairs<n>*>(at);
    for (unsigned i = 0; i < n; ++i)
      pack.x[i] = std::bit_cast<float>(i % 2 == 0 ? pairs.x[i / 2] << 16 : pairs.x[i / 2] & 0xFFFF0000);
  }
  return pack;
}
template <unsigned n>
__device__ void store(Bf16* at, const Pack<n>& pack) {
  if constexpr (n == 1) {
    *at = pack.x[0];
  } else {
    Pairs<n> pairs;
    for (unsigned i = 0; i < n; i += 2)
      pairs.x[i / 2] = Bf16(pack.x[i]).bits | std::uint32_t{Bf16(pack.x[i + 1]).bits} << 16;
    *reinterpret_cast<Pairs<n>*>(at) = pairs;
  }
}

// Of parameters, which lie one behind the other: only those behind tensors of whole packs are aligned.
template <unsigned n>
__device__ Pack<n> load_anywhere(const float* at) {
  if (reinterpret_cast<std::uintptr_t>(at) % aligned_to<n, float> == 0) return load<n>(at);
  Pack<n> pack;
  for (unsigned i = 0; i < n; ++i) pack.x[i] = at[i];
  return pack;
}

// The numbers as they will be read from an array of type T.
template <class T, unsigned n>
__device__ Pack<n> as_stored(Pack<n> pack) {
  for (unsigned i = 0; i < n; ++i) pack.x[i] = T(pack.x[i]);
  return pack;
}

// Stores the pack, or adds it with `add`.
template <unsigned n, class T>
__device__ void store(T* at, Pack<n> pack, bool add) {
  if (add) {
    const Pack<n> before = load<n>(at);
    for (unsigned i = 0; i < n; ++i) pack.x[i] += before.x[i];
  }
  store<n>(at, pack);
}

// ---- sums and maxima over the threads of a warp or of a block. The order of additions depends only on the
// sizes, so equal inputs give equal bits.

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
  static constexpr float none = 0;
};
struct Greater {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  static constexpr float none = -INFINITY;
};

// Every lane gets the result of all 32. All lanes must call this.
template <class Combine>
__device__ float over_warp(float value, Combine combine) {
  for (unsigned mask = 16; mask > 0; mask /= 2) {
    value = combine(value, __shfl_xor_sync(all_lanes, value, mask));
  }
  return value;
}

// Every thread gets the result of all. All threads of the block must call this; blockDim.x must be a multiple
// of 32 and the block one-dimensional.
template <class Combine>
__device__ float over_block(float value, Combine combine) {
  STEELYARD_SHARED(float, partial, [32]);
  const unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  value = over_warp(value, combine);
  __syncthreads();  // partial may still be read by the previous call
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  return over_warp(lane < warps ? partial[lane] : Combine::none, combine);
}

__device__ inline float warp_sum(float value) { return over_warp(value, Plus()); }
__device__ inline float block_sum(float value) { return over_block(value, Plus()); }
__device__ inline float block_max(float value) { return over_block(value, Greater()); }

}  // namespace steelyard::nn::cuda
