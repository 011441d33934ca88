#pragma once

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// to[r][c] += bias[c], of a matrix on the device whose rows begin `row` floats behind each other.
void add_bias(Stream& stream, const float* bias, std::uint64_t rows, std::uint32_t columns, std::uint32_t row,
              float* to);

}  // namespace steelyard::nn::cuda
