// What activations and their kernels share. Plain declarations only, as in nn/cpu/direct_kernels.h.
#pragma once

#include <cstddef>

namespace steelyard::nn {

// One function for each Activation::Kind, in its order. Any two pointers of a call may be equal.
struct ActivationTable {
  static constexpr int kinds = 9;
  using Forward = void (*)(std::size_t size, const float* input, float* output);
  // d_input = derivative * d_output, or += for the adding ones. `kept` is the output of forward(), but the
  // input for both gelu, silu and hard_swish.
  using Backward = void (*)(std::size_t size, const float* kept, const float* d_output, float* d_input);
  Forward forward[kinds];
  Backward backward[kinds];
  Backward add_backward[kinds];
};

// clang-format off
namespace baseline { extern const ActivationTable activation; }
namespace v3 { extern const ActivationTable activation; }
namespace v4 { extern const ActivationTable activation; }
// clang-format on

}  // namespace steelyard::nn
