// What the optimizer's kernels and their dispatch share: tables of functions, one per processor level (the
// pattern is told in nn/cpu/direct_kernels.h). Plain declarations only.
#pragma once

#include <cstddef>

namespace steelyard::nn {

struct RuleTable {
  // Per element; see rule.h. All pointers of one call are to different buffers.
  void (*sgd)(std::size_t size, float* out, const float* w, const float* sum, float scale, float decay,
              float rate);
  void (*momentum)(std::size_t size, float* out, const float* w, const float* sum, float* m, float scale,
                   float decay, float rate, float momentum);
  void (*nesterov)(std::size_t size, float* out, const float* w, const float* sum, float* m, float scale,
                   float decay, float rate, float momentum);
  // out = keep * w + scale * sum
  void (*blend)(std::size_t size, float* out, const float* w, const float* sum, float keep, float scale);
};

struct VectorTable {
  void (*add)(std::size_t size, float* into, const float* x);
  void (*sum)(std::size_t size, float* into, const float* x, const float* y);
  bool (*all_finite)(std::size_t size, const float* x);
  double (*sum_of_squares)(std::size_t size, const float* x);
};

// clang-format off
namespace baseline { extern const RuleTable rules; extern const VectorTable vectors; }
namespace v3 { extern const RuleTable rules; extern const VectorTable vectors; }
namespace v4 { extern const RuleTable rules; extern const VectorTable vectors; }
// clang-format on

}  // namespace steelyard::nn
