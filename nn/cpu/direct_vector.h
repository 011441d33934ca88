// The vector of a level, for kernels only: as wide as the level's registers, loaded from and
// stored to any address.
//
// Everything is in the namespace of the level, so each level has its own copies of these inline functions.
#pragma once

namespace steelyard::nn::direct::STEELYARD_LEVEL {

#if defined(__AVX512F__)
inline constexpr int width = 16;  // floats
#elif defined(__AVX__)
inline constexpr int width = 8;
#else
inline constexpr int width = 4;
#endif

typedef float Vector __attribute__((vector_size(4 * width)));
typedef int Mask __attribute__((vector_size(4 * width)));  // what comparing Vectors gives: all bits or none
typedef float VectorInMemory __attribute__((vector_size(4 * width), aligned(4), may_alias));

[[gnu::always_inline]] inline Vector load(const float* from) {
  return *reinterpret_cast<const VectorInMemory*>(from);
}
[[gnu::always_inline]] inline void store(float* to, Vector value) {
  *reinterpret_cast<VectorInMemory*>(to) = value;
}
[[gnu::always_inline]] inline Vector broadcast(float value) { return value - Vector{}; }
// As max(value, 0), but NaN stays NaN, so that a diverging network is seen.
[[gnu::always_inline]] inline Vector rectified(Vector value) { return value < 0.0F ? Vector{} : value; }
// Each lane from where `from` says, counted through `a` and then `b`. Clang, with which only fuzz targets are
// built, has no instruction for places that are not constants.
[[gnu::always_inline]] inline Vector shuffled(Vector a, Vector b, Mask from) {
#if defined(__clang__)
  Vector to;
  for (int i = 0; i < width; ++i) to[i] = from[i] < width ? a[from[i]] : b[from[i] - width];
  return to;
#else
  return __builtin_shuffle(a, b, from);
#endif
}

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
