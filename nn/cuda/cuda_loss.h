// Losses on the device, by the equations of nn/loss.h.
#pragma once

#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/loss.h"

namespace steelyard::nn::cuda {

// Sums over all micro-batches since they were zeroed.
struct LossSums {
  double loss = 0;
  std::uint64_t correct = 0;   // labels; 0 if the loss counts no answers
  std::uint64_t no_class = 0;  // labels outside the model's classes: their rows are ignored
};

// Floats of workspace for this many samples.
std::uint64_t loss_workspace(const LossOptions& options, std::uint32_t samples);

// Adds to `sums`. Scores and gradient are stored as [sample][label][class]; the gradient may be null or the
// scores' own buffer. It is zero for padded samples (their scores, labels and targets are not read) and for
// rows with a label outside the classes. All pointers are device pointers.
void add_loss(const Context& context, const LossOptions& options, std::uint32_t size, const float* scores,
              float* gradient, LossSums* sums, float* workspace);

}  // namespace steelyard::nn::cuda
