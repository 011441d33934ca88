// One thread for each few neighbouring numbers of each sample:
//
//   with_packs(can_pack(channels, in, out), [&](auto n) {
//     launch_in_samples(stream, samples, floats_of_a_sample / n, &kernel<n>, arguments...);
//   });
//
// A kernel finds its sample in blockIdx.y and its place in the sample by thread_in_sample(), which fits 32
// bits: a division of 64 bits costs a GPU more than the memory that most ops move. Threads behind the last
// place exist and must return.
#pragma once

#include "nn/cuda/pack.h"

namespace steelyard::nn::cuda {

// Whether `count` numbers in a row are whole packs of four, at each of these addresses.
template <class... Pointers>
bool can_pack(std::uint64_t count, const Pointers*... at) {
  return count % 4 == 0 && ((reinterpret_cast<std::uintptr_t>(at) % sizeof(Pack<4>) == 0) && ...);
}

// Calls with the size of a pack, four or one, as a constant.
template <class Call>
void with_packs(bool packed, Call call) {
  if (packed) {
    call(std::integral_constant<unsigned, 4>());
  } else {
    call(std::integral_constant<unsigned, 1>());
  }
}

template <class... Parameters, class... Arguments>
void launch_in_samples(Stream& stream, std::uint32_t samples, std::uint64_t places,
                       void (*kernel)(Parameters...), Arguments&&... arguments) {
  const unsigned threads = places < 256 ? 32 * groups_of(places, 32) : 256;  // few idle ones in small samples
  launch(stream, {groups_of(places, threads), samples}, threads, kernel, arguments...);
}

__device__ inline unsigned thread_in_sample() { return blockIdx.x * blockDim.x + threadIdx.x; }

}  // namespace steelyard::nn::cuda
