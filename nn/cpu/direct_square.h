// Rows and columns of a square of floats change places, for kernels only.
#pragma once

#include "nn/cpu/direct_vector.h"

namespace steelyard::nn::direct::STEELYARD_LEVEL {

#if defined(__AVX512F__)
inline constexpr Mask low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
#elif defined(__AVX__)
inline constexpr Mask low = {0, 8, 1, 9, 2, 10, 3, 11};
#else
inline constexpr Mask low = {0, 4, 1, 5};
#endif
inline constexpr Mask high = low + width / 2;

// One riffle of all rows (row 0 with row width / 2, and so on) moves every element from place n of the square
// to place 2n, modulo what wraps: it rotates the bits of n by one. Half of all rotations swap row and column.
[[gnu::always_inline]] inline void turn_square(Vector (&rows)[width]) {
#pragma GCC unroll 4
  for (int step = 1; step < width; step *= 2) {
    Vector riffled[width];
#pragma GCC unroll 8
    for (int i = 0; i < width / 2; ++i) {
      riffled[2 * i] = shuffled(rows[i], rows[i + width / 2], low);
      riffled[2 * i + 1] = shuffled(rows[i], rows[i + width / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) rows[i] = riffled[i];
  }
}

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
