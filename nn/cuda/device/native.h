// What the implementation for devices shares: CUDA's own names for our objects, and its errors as Failure.
#pragma once

#include <cuda_runtime.h>

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

cudaStream_t native(const Stream& stream);

// Throws Failure (failed) that says what was tried.
void check(cudaError_t error, const char* what);
// Of the launch before it.
void check_launch();

}  // namespace steelyard::nn::cuda
