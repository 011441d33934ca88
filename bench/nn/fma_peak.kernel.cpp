// x <- x / 2 + 1 in twelve registers of the level's full width. Twelve hide a latency of six cycles on two
// units.
#include "bench/nn/fma_peak.h"

namespace steelyard::bench::STEELYARD_LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr int width = 16;  // floats
#elif defined(__AVX__)
constexpr int width = 8;
#else
constexpr int width = 4;
#endif
typedef float Vector __attribute__((vector_size(4 * width)));

constexpr int registers = 12;

Vector all(float value) { return Vector{} + value; }

double sum_of_lanes(Vector x) {
  double sum = 0;
  for (int lane = 0; lane < width; ++lane) sum += static_cast<double>(x[lane]);
  return sum;
}

}  // namespace

// Twelve variables, because the compiler would keep an array in memory.
double fma_loop(std::uint64_t steps, double& flops) {
  Vector a = all(0), b = all(1), c = all(3), d = all(4), e = all(5), f = all(6);
  Vector g = all(7), h = all(8), i = all(9), j = all(10), k = all(11), l = all(12);
  const Vector half = all(0.5F), one = all(1);
  for (std::uint64_t step = 0; step < steps; ++step) {
    a = a * half + one, b = b * half + one, c = c * half + one, d = d * half + one;
    e = e * half + one, f = f * half + one, g = g * half + one, h = h * half + one;
    i = i * half + one, j = j * half + one, k = k * half + one, l = l * half + one;
  }
  flops += 2.0 * width * registers * static_cast<double>(steps);
  double sum = 0;
  const Vector xs[registers] = {a, b, c, d, e, f, g, h, i, j, k, l};
  for (const Vector& x : xs) sum += sum_of_lanes(x);
  return sum / (registers * width);
}

}  // namespace steelyard::bench::STEELYARD_LEVEL
