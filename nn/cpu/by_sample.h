// Makes an op of bf16 from one of float32: the activations of one sample at a time are widened into the
// workspace, where they stay in the caches, and the results rounded. For ops that treat samples one by one.
#pragma once

#include <functional>
#include <memory>

#include "nn/op.h"

namespace steelyard::nn::cpu {

// `make` makes the op for one sample, in float32: one for each of a micro-batch, because an op may keep data
// from forward to backward. With `numbers` the inputs are float32 in either storage (Embedding).
std::unique_ptr<Op> by_sample(const OpPlace& place, bool numbers,
                              const std::function<std::unique_ptr<Op>(const OpPlace& place)>& make);

}  // namespace steelyard::nn::cpu
