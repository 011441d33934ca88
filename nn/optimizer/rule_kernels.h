// Shared by the optimizer's kernels and their dispatch: tables of functions, one per processor level
// (nn/cpu/kernels.h describes the pattern). Plain declarations only.
#pragma once

#include <cstddef>

namespace steelyard::nn {

// The factors of a step with moments, the same for every element of a slice; see rule.h.
struct MomentFactors {
  float scale;               // of the sum
  float decay;               // adam: of w in the gradient; lamb: of w in the direction
  float keep;                // adam: of w in the next version
  float beta1, beta2;        // of the previous moments
  float fresh1, fresh2;      // 1 - beta1, 1 - beta2
  float correct1, correct2;  // 1 / (1 - beta1^t), 1 / sqrt(1 - beta2^t)
  float epsilon;
  float rate;  // adam: divided by 1 - beta1^t
};

// One sweep over a slice: what to compute, with all factors already rounded to floats. Made by rule.h, run by
// the processor (run() there) or by a CUDA device (nn/cuda/optimizer_kernels.h). Pointers are to arrays of
// `size` floats in the memory of whatever runs it, and all different; those that the rule does not need are
// null.
struct RuleCall {
  enum class Rule : unsigned char { sgd, momentum, nesterov, lars, adam, lamb, walk, blend };

  Rule rule = Rule::sgd;
  std::size_t size = 0;
  float* out = nullptr;
  const float* w = nullptr;
  const float* sum = nullptr;
  const float* last = nullptr;  // added to the sum, if not null
  float *m = nullptr, *v = nullptr;
  float scale = 0, decay = 0, rate = 0;
  float momentum = 0;       // blend: the share of w that is kept
  MomentFactors factors{};  // of adam and lamb
  // For a processor: writes `out` to memory past the caches, which saves reading its lines first. The same
  // bits. Ignored by lamb and walk, whose `out` is read again.
  bool streams = false;
};

struct RuleTable {
  void (*run)(const RuleCall& call);  // one sweep; see rule.h for the equations
};

inline constexpr std::size_t square_chains = 32;  // independent sums: as many as the widest processor needs

struct VectorTable {
  void (*add)(std::size_t size, float* into, const float* x);
  void (*sum)(std::size_t size, float* into, const float* x, const float* y);
  bool (*all_finite)(std::size_t size, const float* x);
  // Element i is added to chains[(at + i) % square_chains].
  void (*squares)(std::size_t size, const float* x, double* chains, std::size_t at);
};

// clang-format off
namespace baseline { extern const RuleTable rules; extern const VectorTable vectors; }
namespace v3 { extern const RuleTable rules; extern const VectorTable vectors; }
namespace v4 { extern const RuleTable rules; extern const VectorTable vectors; }
// clang-format on

}  // namespace steelyard::nn
