// ReLU: y = max(x, 0); dx = dy where y > 0, else 0. In place, in either order. A NaN stays one,
// and shows in the loss.
#pragma once

#include <memory>

#include "nn/layers/op.h"

namespace steelyard::nn {

// Plain loops over samples.
std::unique_ptr<Op> make_reference_relu(Shape shape);

// Backward by our vector kernels.
std::unique_ptr<Op> make_relu(Shape shape, Order order);

}  // namespace steelyard::nn
