// The CUDA C++ keywords and functions that kernels use, for g++; nvcc has them built in.
#pragma once

#include <math.h>

#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "nn/cuda/host/executor.h"

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)

// Macros in place of CUDA's built-in variables: fields of the running thread.
#define threadIdx (::steelyard::nn::cuda::host::here->thread)
#define blockIdx (::steelyard::nn::cuda::host::here->block)
#define blockDim (::steelyard::nn::cuda::host::here->block_extent)
#define gridDim (::steelyard::nn::cuda::host::here->grid_extent)

namespace steelyard::nn::cuda {

using Extent = host::Extent;

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

using Where = std::source_location;

inline void __syncthreads(const Where& where = Where::current()) { host::Executor::mine().barrier(where); }
inline void __syncwarp(unsigned = 0xFFFFFFFF, const Where& where = Where::current()) {
  host::Executor::mine().meet(0, where);
}

// The value of lane `from`.
template <class T>
T exchanged(T value, unsigned from, const Where& where) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  host::Executor& executor = host::Executor::mine();
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  executor.meet(bits, where);
  bits = executor.look(from < 32 ? from : executor.lane());
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
T __shfl_sync(unsigned, T value, unsigned lane, const Where& where = Where::current()) {
  return exchanged(value, lane % 32, where);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned mask, const Where& where = Where::current()) {
  return exchanged(value, host::Executor::mine().lane() ^ mask, where);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned by, const Where& where = Where::current()) {
  return exchanged(value, host::Executor::mine().lane() + by, where);
}

}  // namespace steelyard::nn::cuda

// One array per block, identified by the place of its declaration.
#define STEELYARD_SHARED(type, name, extent) \
  static constexpr char name##_of_block = 0; \
  auto& name = *static_cast<type(*) extent>( \
      ::steelyard::nn::cuda::host::Executor::mine().shared(&name##_of_block, sizeof(type extent)))
