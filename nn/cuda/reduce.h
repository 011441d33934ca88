// Sums and maxima over the threads of a warp or of a block, for use inside of kernels. The order of
// additions depends on the sizes only, so equal inputs give equal bits.
#pragma once

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
  static constexpr float none = 0;
};
struct Greater {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  static constexpr float none = -INFINITY;
};

// Every lane gets the result of all 32. All lanes must call.
template <class Combine>
__device__ float over_warp(float value, Combine combine) {
  for (unsigned mask = 16; mask > 0; mask /= 2) {
    value = combine(value, __shfl_xor_sync(all_lanes, value, mask));
  }
  return value;
}

// Every thread gets the result of all. All threads of the block must call; blockDim.x is a multiple of 32
// and the block has one dimension.
template <class Combine>
__device__ float over_block(float value, Combine combine) {
  STEELYARD_SHARED(float, partial, [32]);
  const unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  value = over_warp(value, combine);
  __syncthreads();  // partial may still be read by a call before
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  return over_warp(lane < warps ? partial[lane] : Combine::none, combine);
}

__device__ inline float warp_sum(float value) { return over_warp(value, Plus()); }
__device__ inline float warp_max(float value) { return over_warp(value, Greater()); }
__device__ inline float block_sum(float value) { return over_block(value, Plus()); }
__device__ inline float block_max(float value) { return over_block(value, Greater()); }

}  // namespace steelyard::nn::cuda
