// What every file with kernels includes. Kernels are plain CUDA C++; two things that C++ has no words for go
// through here, so that g++ compiles the same files for the host executor (nn/cuda/host/executor.h):
//
//   launch(stream, grid, block, kernel, arguments...)   instead of kernel<<<grid, block, 0, stream>>>(...)
//   STEELYARD_SHARED(float, tile, [32][33]);             instead of __shared__ float tile[32][33];
//
// Rules for kernels: no static variables, no atomics on floats (equal pieces must give equal bits),
// arguments by value, no bulk copies and no tensor cores (the executor has none). What a template parameter
// changes in the shape of an array gets an array in each instance.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

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

}  // namespace steelyard::nn::cuda
