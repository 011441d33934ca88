// Dropout (Srivastava et al. 2014), scaled while training so that nothing is to be done afterwards:
//
//  y = x / (1 - p) where the feature is kept, else 0        (evaluation: y = x)
//
// Whether a feature is kept is a pure function of the job's seed, the epoch, the sample's position in it, the
// layer's place in the model and the feature (nn/cpu/dropout_mask.h): the same whichever worker computes the
// sample, and in which micro-batch. p is met to within 2^-17. In place, in either order.
#pragma once

#include <memory>

#include "nn/layers/op.h"

namespace steelyard::nn {

std::unique_ptr<Op> make_dropout(Shape shape, double probability, std::uint64_t layer, Order order);

}  // namespace steelyard::nn
