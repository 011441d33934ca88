// Ops of the CPU that do the work of several nodes of a graph in one sweep, which the planner puts in their
// place.
#pragma once

#include <steelyard/layers.h>

#include <memory>

#include "nn/op.h"

namespace steelyard::nn::cpu {

// output = relu(batch_norm(x) + residual), or without one of them. Backward reads x, never the residual, and
// with a ReLU the output; the gradient of either input may be d_output's buffer. The two are different
// values: the residual's gradient is given first.
std::unique_ptr<Op> make_batch_norm(const BatchNorm& op, const OpPlace& place, FusedTail tail);

// In lanes. With `relu`, the input is the output of a ReLU whose backward is done too. Windows that do not
// overlap and have no padding, only.
std::unique_ptr<Op> make_max_pool(const MaxPool& op, const OpPlace& place, bool relu);

}  // namespace steelyard::nn::cpu
