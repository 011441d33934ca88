#pragma once

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// to[i] += from[i], of n floats on the device.
void add_up(Stream& stream, std::uint64_t n, const float* from, float* to);

}  // namespace steelyard::nn::cuda
