// Convolutions by kernels of our own: what the column `cuda` has on the host executor, and what cuDNN is
// compared with on a device. Any kernel, stride, padding and groups; sums in float32 whatever the precision.
#pragma once

#include <steelyard/layers.h>

#include <memory>

#include "nn/cuda/context.h"
#include "nn/op.h"

namespace steelyard::nn::cuda {

std::unique_ptr<Op> make_direct_conv2d(const Conv2d& op, const OpPlace& place, const Context& context);

}  // namespace steelyard::nn::cuda
