// Softmax of one row of scores.
#pragma once

#include <cstddef>

#include "core/level.h"
#include "nn/cpu/softmax_kernels.h"

namespace steelyard::nn {

// to[c] = scale * exp(scores[c]) / sum_k exp(scores[k]) + shift, for size >= 1 scores. A NaN among the scores
// makes all of them NaN. `to` may be `scores`.
SoftmaxSums softmax(const float* scores, std::size_t size, float scale, float shift, float* to,
                    Level level = cpu_level());

}  // namespace steelyard::nn
