// Losses of outputs against targets (numbers), and their gradients: the equations are in nn/loss.h.
#pragma once

#include <steelyard/layers.h>

#include <cstdint>

namespace steelyard::nn {

// The loss of one sample with `size` outputs and as many targets; `kind` is one that takes targets.
// `gradient` receives the gradient for each output. NaN outputs give a NaN loss.
double target_loss(Loss kind, const float* outputs, const float* targets, std::uint32_t size,
                   float* gradient);

// For binary cross-entropy: whether every output is on the side of its target. An output above 0, a
// probability above 1/2, answers 1.
bool all_on_their_side(const float* outputs, const float* targets, std::uint32_t size);

}  // namespace steelyard::nn
