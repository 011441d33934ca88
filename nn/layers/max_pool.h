// Max pool: the greatest of each window; the gradient goes to the first place, in reading order, that holds
// it. Windows do not overlap; rows and columns that fill no window are left out and get no gradient.
#pragma once

#include <memory>

#include "nn/layers/op.h"

namespace steelyard::nn {

// `relu`, in lanes only: the input is the output of a ReLU whose backward is done in the same sweep.
std::unique_ptr<Op> make_max_pool(Shape input, std::uint32_t size, Order order, bool relu = false);

}  // namespace steelyard::nn
