// The kernels of attention, for tests and comparisons.
#pragma once

#include <cstddef>

#include "core/processor.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::cpu {

inline const AttentionTable& attention_kernels(Level level = cpu_level()) {
  return at_level(level, baseline::attention, v3::attention, v4::attention);
}

// Floats for one head: probabilities, the gradient of the scores, turned keys or values, and two matrices of
// tokens x length, with rows of whole vectors.
inline std::size_t attention_scratch(const AttentionShape& shape) {
  const auto padded = [](std::size_t size) { return (size + 15) / 16 * 16; };
  return (2 * shape.tokens + shape.length) * padded(shape.tokens) + 2 * shape.tokens * padded(shape.length);
}

}  // namespace steelyard::nn::cpu
