// From one order of an activation to the other; backward turns the gradient back.
#pragma once

#include <memory>

#include "nn/layers/op.h"

namespace steelyard::nn {

std::unique_ptr<Op> make_transpose(Shape shape, Order to);

}  // namespace steelyard::nn
