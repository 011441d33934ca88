// Between float32 and bfloat16 (core/device_name.h) on a CUDA device. Both are added to the stream.
#pragma once

#include <cstdint>

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

using Bf16 = std::uint16_t;  // the upper half of a float32

// To the nearest, and to the even one of two; beyond the largest, infinity. NaN stays NaN.
void to_bf16(Stream& stream, const float* from, std::uint64_t size, Bf16* to);
void to_float(Stream& stream, const Bf16* from, std::uint64_t size, float* to);

}  // namespace steelyard::nn::cuda
