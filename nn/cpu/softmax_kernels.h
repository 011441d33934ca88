// What softmax and its kernels share. Plain declarations only, as in nn/cpu/direct_kernels.h.
#pragma once

#include <cstddef>

namespace steelyard::nn {

// Of the scores of one row: the greatest, the sum of exp(score - top), and the sum of score - top.
struct SoftmaxSums {
  float top, exponentials, distances;
};

struct SoftmaxTable {
  SoftmaxSums (*softmax)(const float* scores, std::size_t size, float scale, float shift, float* to);
};

// clang-format off
namespace baseline { extern const SoftmaxTable softmax_kernels; }
namespace v3 { extern const SoftmaxTable softmax_kernels; }
namespace v4 { extern const SoftmaxTable softmax_kernels; }
// clang-format on

}  // namespace steelyard::nn
