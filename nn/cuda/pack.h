// Neighbouring numbers that are loaded and stored at once: in memory, and aligned to their size.
#pragma once

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {

template <unsigned n>
struct alignas(n * sizeof(float)) Pack {
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
// Or adds it to what is there.
template <unsigned n>
__device__ void store(float* at, Pack<n> pack, bool add) {
  if (add) {
    const Pack<n> before = load<n>(at);
    for (unsigned i = 0; i < n; ++i) pack.x[i] += before.x[i];
  }
  store<n>(at, pack);
}

}  // namespace steelyard::nn::cuda
