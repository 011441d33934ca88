#include "nn/cuda/direct_conv2d.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {

std::unique_ptr<Op> make(const Conv2d& op, const OpPlace& place, const Context& context) {
  return make_direct_conv2d(op, place, context);
}

}  // namespace steelyard::nn::cuda
