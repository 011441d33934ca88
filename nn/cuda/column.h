// The column of the op table that computes on a CUDA device, for the planner.
#pragma once

#include "nn/cuda/context.h"
#include "nn/network_plan.h"

namespace steelyard::nn::cuda {

// The column and the ops that it makes refer to the context.
nn::Column column_of(const Context& context, Storage storage);

}  // namespace steelyard::nn::cuda
