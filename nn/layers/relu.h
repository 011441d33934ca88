// ReLU: y = max(x, 0); dx = dy where y > 0, else 0. In place, in either order.
#pragma once

#include <memory>

#include "nn/layers/op.h"

namespace steelyard::nn {

std::unique_ptr<Op> make_relu(Shape shape, Order order);

}  // namespace steelyard::nn
