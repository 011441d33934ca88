#include "nn/cpu/softmax.h"

#include "core/check.h"
#include "nn/cpu/leveled.h"

namespace steelyard::nn {

SoftmaxSums softmax(const float* scores, std::size_t size, float scale, float shift, float* to, Level level) {
  CHECK(size > 0, "softmax of no scores");
  return at_level(level, baseline::softmax_kernels, v3::softmax_kernels, v4::softmax_kernels)
      .softmax(scores, size, scale, shift, to);
}

}  // namespace steelyard::nn
