// Shared by the implementation for devices: CUDA's handles of our objects, and its errors as Failure.
#pragma once

#include <cuda_runtime.h>

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

cudaStream_t native(const Stream& stream);

// Throws Failure (failed) that names the attempted operation.
void check(cudaError_t error, const char* what);
// For the preceding launch.
void check_launch();

}  // namespace steelyard::nn::cuda
