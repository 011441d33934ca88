// What attention and its kernels share. Plain declarations only, as in nn/cpu/direct_kernels.h.
//
// One call is for one sample: input [token][q, k, v][head][feature], output [token][head][feature]. `scratch`
// are attention_scratch() floats.
#pragma once

#include <cstddef>

namespace steelyard::nn {

struct AttentionShape {
  std::size_t tokens, heads, length;  // features of one head
  bool causal;
  float scale;  // of scores: 1 / sqrt(length)
};

struct AttentionTable {
  void (*forward)(const AttentionShape&, const float* input, float* output, float* scratch);
  // Finds the probabilities again.
  void (*backward)(const AttentionShape&, const float* input, const float* d_output, bool add, float* d_input,
                   float* scratch);
};

// clang-format off
namespace baseline { extern const AttentionTable attention; }
namespace v3 { extern const AttentionTable attention; }
namespace v4 { extern const AttentionTable attention; }
// clang-format on

}  // namespace steelyard::nn
