// x <- x / 2 + 1 in twelve registers, as wide as the level has them: enough to hide a latency of six cycles
// behind two units.
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

}  // namespace

double fma_loop(std::uint64_t steps, double& flops) {
  Vector x[registers];
  for (int i = 0; i < registers; ++i) x[i] = Vector{} + static_cast<float>(i);
  Vector half = Vector{} + 0.5F, one = Vector{} + 1.0F;
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (int i = 0; i < registers; ++i) {
      x[i] = x[i] * half + one;
      asm volatile("" : "+x"(x[i]));  // one operation is done at a time, and in a register
    }
  }
  flops += 2.0 * width * registers * static_cast<double>(steps);
  double sum = 0;
  for (int i = 0; i < registers; ++i) {
    for (int lane = 0; lane < width; ++lane) sum += static_cast<double>(x[i][lane]);
  }
  return sum / (registers * width);
}

}  // namespace steelyard::bench::STEELYARD_LEVEL
