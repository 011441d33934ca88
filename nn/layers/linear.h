// Linear: y = W x + b for each sample, W being [out][in].
//
//  dW = sum over samples of dy x^T      db = sum of dy      dx = W^T dy
//
// A picture as input is taken in the order of the samples: row, column, channel.
#pragma once

#include <memory>

#include "nn/layers/op.h"

namespace steelyard::nn {

// Plain loops; samples in, samples out.
std::unique_ptr<Op> make_reference_linear(Shape input, std::uint32_t outputs);

// Matrix products by oneDNN; takes either order, delivers lanes.
std::unique_ptr<Op> make_linear(Shape input, std::uint32_t outputs, Order input_order);

}  // namespace steelyard::nn
