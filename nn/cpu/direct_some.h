// Parts of a vector and sums over its lanes, for kernels only. Where rows have a length that no vector
// divides, a whole vector is worked on that reaches into the next row, as long as the buffer goes on.
#pragma once

#include <cstddef>

#include "nn/cpu/direct_vector.h"

namespace steelyard::nn::direct::STEELYARD_LEVEL {

#if defined(__AVX512F__)
inline constexpr Mask lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif defined(__AVX__)
inline constexpr Mask lane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
inline constexpr Mask lane = {0, 1, 2, 3};
#endif

// The first `count` floats of a buffer that goes on until `end`; what is behind them may be anything.
[[gnu::always_inline]] inline Vector load_some(const float* from, std::ptrdiff_t count, const float* end) {
  if (end - from >= width) return load(from);
  Vector some = {};
  for (std::ptrdiff_t i = 0; i < count; ++i) some[i] = from[i];
  return some;
}

// Writes the first `count` floats; what is behind them is written again as it is.
[[gnu::always_inline]] inline void store_some(float* to, std::ptrdiff_t count, Vector value,
                                              const float* end) {
  if (count == width) return store(to, value);
  if (end - to >= width) return store(to, lane < static_cast<int>(count) ? value : load(to));
  for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = value[i];
}

// The same for a sweep that writes what is behind them later: it may be anything until then. (To read what
// has just been written in part would make the processor wait.)
[[gnu::always_inline]] inline void store_ahead(float* to, std::ptrdiff_t count, Vector value,
                                               const float* end) {
  if (end - to >= width) return store(to, value);
  for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = value[i];
}

// The sum, or the greatest, of all lanes, in each lane.
template <class Combine>
[[gnu::always_inline]] inline Vector folded(Vector values, Combine combine) {
#pragma GCC unroll 4
  for (int step = width / 2; step > 0; step /= 2) {
    values = combine(values, shuffled(values, values, lane ^ step));
  }
  return values;
}
[[gnu::always_inline]] inline Vector sum_of(Vector values) {
  return folded(values, [](Vector a, Vector b) { return a + b; });
}
[[gnu::always_inline]] inline Vector greatest_of(Vector values) {
  return folded(values, [](Vector a, Vector b) { return a > b ? a : b; });
}

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
