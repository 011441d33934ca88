// Plain loops with as many independent sums as the widest processor needs; the compiler makes vectors of
// them.
#include <cstddef>
#include <cstdint>

#include "nn/optimizer/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

void add(std::size_t size, float* __restrict into, const float* __restrict x) {
  for (std::size_t i = 0; i < size; ++i) into[i] += x[i];
}

void sum(std::size_t size, float* __restrict into, const float* __restrict x, const float* __restrict y) {
  for (std::size_t i = 0; i < size; ++i) into[i] = x[i] + y[i];
}

bool all_finite(std::size_t size, const float* x) {
  // A float is infinite or NaN if all bits of its exponent are set. Counted without a branch: see vector.h.
  constexpr std::uint32_t exponent = 0x7F80'0000U;
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    bad |= (bits & exponent) == exponent ? 1U : 0U;
  }
  return bad == 0;
}

double sum_of_squares(std::size_t size, const float* x) {
  constexpr std::size_t chains = 32;
  double sum[chains] = {};
  std::size_t i = 0;
  for (; i + chains <= size; i += chains) {
    for (std::size_t k = 0; k < chains; ++k) {
      const double value = x[i + k];
      sum[k] += value * value;
    }
  }
  for (std::size_t k = 0; i < size; ++i, ++k) {
    const double value = x[i];
    sum[k] += value * value;
  }
  double all = 0;
  for (const double part : sum) all += part;
  return all;
}

}  // namespace

const VectorTable vectors = {add, sum, all_finite, sum_of_squares};

}  // namespace steelyard::nn::STEELYARD_LEVEL
