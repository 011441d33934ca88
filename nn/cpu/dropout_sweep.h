// Dropout in one sweep: to = from * mask, or +=, where the mask is 0 or `scale`. It is drawn on the way,
// which costs less than to write it down: forward and backward draw the same.
//
// Feature f of a sample, counted as row, column, channel in either order, has the 16 bits number f mod 4
// (from the low end) of
//
//  hash(the sample's key, f - f mod 4)      (core/random.h)
//
// and is dropped if they, read as a number, are below `dropped`. All levels draw the same.
#pragma once

#include "core/level.h"
#include "nn/cpu/dropout_sweep_kernels.h"

namespace steelyard::nn {

// In each of the two orders of nn/op.h. `to` may be `from`.
void drop_in_lanes(const DropoutSweep& sweep, const float* from, bool add, float* to,
                   Level level = cpu_level());
void drop_in_samples(const DropoutSweep& sweep, const float* from, bool add, float* to,
                     Level level = cpu_level());

}  // namespace steelyard::nn
