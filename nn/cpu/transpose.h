// From one order of an activation to the other; backward turns the gradient back.
#pragma once

#include <memory>

#include "nn/op.h"

namespace steelyard::nn::cpu {

// place.order is that of the output.
std::unique_ptr<Op> make_transpose(const OpPlace& place);

}  // namespace steelyard::nn::cpu
