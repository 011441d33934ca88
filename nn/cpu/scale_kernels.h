// What scale and its kernels share: a matrix of `rows` x `channels` floats without gaps, and one factor a
// channel. Plain declarations only, as in nn/cpu/direct_kernels.h.
#pragma once

#include <cstddef>

namespace steelyard::nn {

struct ScaleTable {
  void (*forward)(std::size_t rows, std::size_t channels, const float* a, const float* factors, float* to);
  // d_a = factors d_output, or += with `add`, or nothing if null; it may be d_output.
  // d_factors += the sums of a d_output.
  void (*backward)(std::size_t rows, std::size_t channels, const float* a, const float* factors,
                   const float* d_output, bool add, float* d_a, float* d_factors);
};

// clang-format off
namespace baseline { extern const ScaleTable scale; }
namespace v3 { extern const ScaleTable scale; }
namespace v4 { extern const ScaleTable scale; }
// clang-format on

}  // namespace steelyard::nn
