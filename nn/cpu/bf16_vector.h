// Loads and stores of vectors in bfloat16, beside those of floats in direct_vector.h: for kernels only, in
// the namespace of the level.
#pragma once

#include <cstdint>

#include "nn/cpu/direct_vector.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::direct::STEELYARD_LEVEL {

typedef std::uint32_t Words __attribute__((vector_size(4 * width)));
typedef Bf16Bits Halves __attribute__((vector_size(2 * width)));
typedef Bf16Bits HalvesInMemory __attribute__((vector_size(2 * width), aligned(2), may_alias));

[[gnu::always_inline]] inline Vector load(const Bf16Bits* from) {
  const Halves halves = *reinterpret_cast<const HalvesInMemory*>(from);
  return reinterpret_cast<Vector>(__builtin_convertvector(halves, Words) << 16);
}
// The nearest numbers; of two, the one with an even last bit. NaN stays NaN.
[[gnu::always_inline]] inline void store(Bf16Bits* to, Vector value) {
  const auto words = reinterpret_cast<Words>(value);
  const Words near = (words + 0x7FFFU + (words >> 16 & 1U)) >> 16;
  const Words rounded = value != value ? Words{} + 0x7FFFU : near;
  *reinterpret_cast<HalvesInMemory*>(to) = __builtin_convertvector(rounded, Halves);
}

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
