// Makes an op of bf16 from one of float32: its activations and their gradients are cast to and from the
// workspace in each call. For a library that has an algorithm for the one but not for the other.
#pragma once

#include <functional>
#include <memory>

#include "nn/cuda/context.h"
#include "nn/op.h"

namespace steelyard::nn::cuda {

// `make` makes the op, for the place in float32. It must not work in place. Its parameters, and their
// gradients, are passed on.
std::unique_ptr<Op> in_float32(const OpPlace& place, const Context& context,
                               const std::function<std::unique_ptr<Op>(const OpPlace& place)>& make);

}  // namespace steelyard::nn::cuda
