// The vector type of a level, for kernels only: as wide as the level's registers, loaded from and stored to
// any address.
//
// Everything is in the namespace of the level, so each level has its own copies of these inline functions.
#pragma once

#include <cstddef>

namespace steelyard::nn::direct::STEELYARD_LEVEL {

#if defined(__AVX512F__)
inline constexpr int width = 16;  // floats
#elif defined(__AVX__)
inline constexpr int width = 8;
#else
inline constexpr int width = 4;
#endif

typedef float Vector __attribute__((vector_size(4 * width)));
typedef int Mask __attribute__((vector_size(4 * width)));  // result of comparing Vectors: all bits or none
typedef float VectorInMemory __attribute__((vector_size(4 * width), aligned(4), may_alias));

[[gnu::always_inline]] inline Vector load(const float* from) {
  return *reinterpret_cast<const VectorInMemory*>(from);
}
[[gnu::always_inline]] inline void store(float* to, Vector value) {
  *reinterpret_cast<VectorInMemory*>(to) = value;
}
// A loaded value that several multiply-adds use. Without it, g++ makes the load a part of each of them, and
// kernels are then bound by loads, of which there are two per cycle.
[[gnu::always_inline]] inline Vector in_register(Vector value) {
#if defined(__x86_64__)
  asm("" : "+v"(value));
#endif
  return value;
}
[[gnu::always_inline]] inline Vector broadcast(float value) { return value - Vector{}; }
// max(value, 0), but NaN stays NaN, so that divergence is detected.
[[gnu::always_inline]] inline Vector rectified(Vector value) { return value < 0.0F ? Vector{} : value; }
// Each lane is taken from position `from`, counted through `a` and then `b`. Clang, used only for fuzz
// targets, has no builtin for non-constant positions.
[[gnu::always_inline]] inline Vector shuffled(Vector a, Vector b, Mask from) {
#if defined(__clang__)
  Vector to;
  for (int i = 0; i < width; ++i) to[i] = from[i] < width ? a[from[i]] : b[from[i] - width];
  return to;
#else
  return __builtin_shuffle(a, b, from);
#endif
}

// ---- parts of a vector, and sums over its lanes. If row lengths are not multiples of the vector, whole
// vectors that reach into the next row are processed, up to the end of the buffer.

#if defined(__AVX512F__)
inline constexpr Mask lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif defined(__AVX__)
inline constexpr Mask lane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
inline constexpr Mask lane = {0, 1, 2, 3};
#endif

// Loads the first `count` floats of a buffer that extends to `end`; the other lanes are unspecified.
[[gnu::always_inline]] inline Vector load_some(const float* from, std::ptrdiff_t count, const float* end) {
  if (end - from >= width) return load(from);
  Vector some = {};
  for (std::ptrdiff_t i = 0; i < count; ++i) some[i] = from[i];
  return some;
}

// Writes the first `count` floats; the floats behind them are rewritten unchanged.
[[gnu::always_inline]] inline void store_some(float* to, std::ptrdiff_t count, Vector value,
                                              const float* end) {
  if (count == width) return store(to, value);
  if (end - to >= width) return store(to, lane < static_cast<int>(count) ? value : load(to));
  for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = value[i];
}

// The same for a sweep that later writes the floats behind them: they are unspecified until then. (Reading
// memory that was just partly written would stall the processor.)
[[gnu::always_inline]] inline void store_ahead(float* to, std::ptrdiff_t count, Vector value,
                                               const float* end) {
  if (end - to >= width) return store(to, value);
  for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = value[i];
}

// The sum, or the maximum, of all lanes, in each lane.
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

// ---- a square of floats

#if defined(__AVX512F__)
inline constexpr Mask low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
#elif defined(__AVX__)
inline constexpr Mask low = {0, 8, 1, 9, 2, 10, 3, 11};
#else
inline constexpr Mask low = {0, 4, 1, 5};
#endif
inline constexpr Mask high = low + width / 2;

// One riffle of all rows (row 0 with row width / 2, and so on) moves the element at place n of the square to
// place 2n, with wrap-around: it rotates the bits of n by one. Half of all rotations swap row and column.
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

// ---- the exponential: to within 2 units in the last place, from a power of two and a polynomial (Cephes'
// expf). Below -87.3 it is zero, above 88.4 infinite; NaN stays NaN.

[[gnu::always_inline]] inline Vector exponential(Vector x) {
  const Vector lowest = broadcast(-87.3F), highest = broadcast(89.0F);
  const Vector inside = x > highest ? highest : x;
  // Adding this number rounds to an integer, which is then in the lowest bits.
  const Vector rounder = broadcast(12582912.0F);
  const Vector shifted = inside * 1.44269504F + rounder;
  const Vector power = shifted - rounder;
  const Vector r = inside - power * 0.693359375F - power * -2.12194440e-4F;
  Vector sum = r * 1.9875691500e-4F + 1.3981999507e-3F;
  sum = sum * r + 8.3334519073e-3F;
  sum = sum * r + 4.1665795894e-2F;
  sum = sum * r + 1.6666665459e-1F;
  sum = sum * r + 5.0000001201e-1F;
  sum = sum * (r * r) + r + 1.0F;
  const Vector scale = reinterpret_cast<Vector>((reinterpret_cast<Mask>(shifted) + 127) << 23);
  return inside < lowest ? Vector{} : sum * scale;
}

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
