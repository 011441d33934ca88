// What layer norm and its kernels share. Matrices of `rows` x `channels` floats without gaps. Plain
// declarations only, as in nn/cpu/direct_kernels.h.
#pragma once

#include <cstddef>

namespace steelyard::nn {

struct LayerNormTable {
  // Keeps mean and 1 / sqrt(variance + epsilon) of each row in `statistics`.
  void (*forward)(std::size_t rows, std::size_t channels, const float* x, const float* weight,
                  const float* bias, float epsilon, float* statistics, float* to);
  // d_weight and d_bias are added to; d_x is written, or added to with `add`, or null. It may be d_output.
  void (*backward)(std::size_t rows, std::size_t channels, const float* x, const float* weight,
                   const float* statistics, const float* d_output, float* d_weight, float* d_bias, bool add,
                   float* d_x);
};

// clang-format off
namespace baseline { extern const LayerNormTable layer_norm; }
namespace v3 { extern const LayerNormTable layer_norm; }
namespace v4 { extern const LayerNormTable layer_norm; }
// clang-format on

}  // namespace steelyard::nn
