// Plain loops, one sweep each way: bound by memory.
#include <cstddef>

#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using std::size_t;

void forward(size_t rows, size_t channels, const float* a, const float* factors, float* to) {
  for (size_t row = 0; row < rows; ++row, a += channels, to += channels) {
#pragma GCC ivdep
    for (size_t c = 0; c < channels; ++c) to[c] = a[c] * factors[c];
  }
}

enum class Target { none, write, add };

template <Target target>
void backward_of(size_t rows, size_t channels, const float* a, const float* factors, const float* d_output,
                 float* d_a, float* __restrict d_factors) {
  for (size_t row = 0; row < rows; ++row, a += channels, d_output += channels) {
#pragma GCC ivdep  // d_a may be d_output
    for (size_t c = 0; c < channels; ++c) {
      const float d = d_output[c];
      d_factors[c] += a[c] * d;
      if constexpr (target == Target::write) d_a[c] = d * factors[c];
      if constexpr (target == Target::add) d_a[c] += d * factors[c];
    }
    if constexpr (target != Target::none) d_a += channels;
  }
}

void backward(size_t rows, size_t channels, const float* a, const float* factors, const float* d_output,
              bool add, float* d_a, float* d_factors) {
  const auto kernel = d_a == nullptr ? backward_of<Target::none>
                                     : (add ? backward_of<Target::add> : backward_of<Target::write>);
  kernel(rows, channels, a, factors, d_output, d_a, d_factors);
}

}  // namespace

const ScaleTable scale = {forward, backward};

}  // namespace steelyard::nn::STEELYARD_LEVEL
