// Numbers of activations in memory, for kernels only: kernels that are templates over T = float or Stored
// compute with floats in either, and round once, when they store.
//
// Everything is in the namespace of the level, so each level has its own copies of these inline functions.
#pragma once

#include <cstdint>
#include <type_traits>

#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {

// A bfloat16: the upper half of a float.
struct Stored {
  Bf16Bits bits;

  Stored() = default;
  // The nearest number; of two, the one with an even last bit. NaN stays NaN. Both values of the choice are
  // computed, so that the compiler vectorises it.
  [[gnu::always_inline]] inline Stored(float x) {  // NOLINT: stored like a float
    const auto word = __builtin_bit_cast(std::uint32_t, x);
    const std::uint32_t near = (word + 0x7FFFU + (word >> 16 & 1U)) >> 16;
    bits = static_cast<Bf16Bits>(x != x ? 0x7FFFU : near);
  }
  [[gnu::always_inline]] inline operator float() const {  // NOLINT: read like a float
    return __builtin_bit_cast(float, std::uint32_t{bits} << 16);
  }
};
static_assert(sizeof(Stored) == sizeof(Bf16Bits));

// What the tables call T: they are the same at all levels.
template <class T>
using BitsOf = std::conditional_t<std::is_same_v<T, Stored>, Bf16Bits, T>;

template <class T>
[[gnu::always_inline]] inline const T* numbers(const BitsOf<T>* bits) {
  return reinterpret_cast<const T*>(bits);
}
template <class T>
[[gnu::always_inline]] inline T* numbers(BitsOf<T>* bits) {
  return reinterpret_cast<T*>(bits);
}

}  // namespace steelyard::nn::STEELYARD_LEVEL
