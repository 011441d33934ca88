// Plain loops, which the compiler vectorises.
#include <cstddef>
#include <cstdint>

#include "nn/optimizer/rule_kernels.h"

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

void squares(std::size_t size, const float* x, double* chains, std::size_t at) {
  double sum[square_chains];
  __builtin_memcpy(sum, chains, sizeof sum);
  const auto one = [&](std::size_t i) {
    const double value = x[i];
    sum[(at + i) % square_chains] += value * value;
  };
  std::size_t i = 0;
  for (; i < size && (at + i) % square_chains != 0; ++i) one(i);
  for (; i + square_chains <= size; i += square_chains) {
    for (std::size_t k = 0; k < square_chains; ++k) {
      const double value = x[i + k];
      sum[k] += value * value;
    }
  }
  for (; i < size; ++i) one(i);
  __builtin_memcpy(chains, sum, sizeof sum);
}

}  // namespace

const VectorTable vectors = {add, sum, all_finite, squares};

}  // namespace steelyard::nn::STEELYARD_LEVEL
