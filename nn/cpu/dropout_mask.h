// Draws the masks of dropout: the numbers that features are multiplied with, 0 or `scale`.
//
// Feature f of sample s has the 16 bits number f mod 4 (from the low end) of
//
//  hash(key[s], f - f mod 4)      (core/random.h)
//
// and is dropped if they, read as a number, are below `dropped`.
#pragma once

#include <cstdint>

#include "core/level.h"
#include "nn/cpu/dropout_mask_kernel.h"

namespace steelyard::nn {

// Writes mask.channels x mask.pixels x mask.lanes floats to `mask.to`: lanes, as in nn/cpu/direct.h. All
// levels draw the same.
void draw(const DropoutMask& mask, Level level = cpu_level());

}  // namespace steelyard::nn
