// The update rules of nn/optimizer/rule.h on a CUDA device: sgd, momentum, nesterov, adam and adamw, with
// the numbers of the CPU up to the rounding of single operations.
#pragma once

#include <cstdint>

#include "nn/cuda/runtime.h"
#include "nn/optimizer/rule.h"

namespace steelyard::nn::cuda {

// One slice; all pointers are of the device, and no buffer overlaps another.
struct DeviceUpdate {
  std::uint64_t size;
  float* parameters;  // the version before, then the next one
  const float* sum;   // of the gradients
  float* state;       // state_slots() * size floats, slot after slot; zero before the first step
  double scale = 1;
  std::uint64_t steps = 0;        // that the slice has taken before this one
  const float* factor = nullptr;  // of the sum, besides scale: Norm::factor()
};

// Adds the step to the stream, in one sweep; rate and decay as nn::step() takes them. lars and lamb, which
// need norms of tensors, are refused: Failure (configuration).
void optimizer_step(Stream& stream, const Optimizer& optimizer, const DeviceUpdate& update, double rate,
                    double decay);

}  // namespace steelyard::nn::cuda
