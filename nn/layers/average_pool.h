// Average pool: the mean of each window; the gradient is shared equally. Windows as in nn/layers/max_pool.h.
#pragma once

#include <memory>

#include "nn/layers/op.h"

namespace steelyard::nn {

std::unique_ptr<Op> make_average_pool(Shape input, std::uint32_t size, Order order);

}  // namespace steelyard::nn
