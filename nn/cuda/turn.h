#pragma once

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// From [matrix][row][column] to [matrix][column][row], of so many matrices on the device; with `add`, added
// to what is there. Not in place.
void turn(Stream& stream, std::uint32_t matrices, std::uint32_t rows, std::uint32_t columns, const float* in,
          float* out, bool add = false);

}  // namespace steelyard::nn::cuda
