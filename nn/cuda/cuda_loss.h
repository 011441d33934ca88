// Losses on the device, with the equations of nn/loss.h.
#pragma once

#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/loss.h"

namespace steelyard::nn::cuda {

// Of all micro-batches since it was zero.
struct LossSums {
  double loss = 0;
  std::uint64_t correct = 0;   // labels
  std::uint64_t no_class = 0;  // labels that are no class of the model: their rows count nothing
};

// Floats of workspace for so many samples.
std::uint64_t loss_workspace(const LossOptions& options, std::uint32_t samples);

// Adds to `sums`. Scores lie as [sample][label][class]; so does the gradient, which may be null or the
// scores' own buffer. It is zero for padded samples, whose scores and labels are not read, and for rows
// whose label is no class. All pointers are of the device.
void add_loss(const Context& context, const LossOptions& options, std::uint32_t size, const float* scores,
              float* gradient, LossSums* sums, float* workspace);

}  // namespace steelyard::nn::cuda
