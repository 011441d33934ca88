// LossTotal: the loss of a network on its device, summed over the micro-batches of a piece.
#pragma once

#include <steelyard/micro_batch.h>
#include <steelyard/model.h>

#include <cstdint>

#include "nn/cuda/cuda_loss.h"

namespace steelyard::nn::cuda {

class LossTotal {
 public:
  // For micro-batches of up to this many samples.
  LossTotal(const Model& model, std::uint32_t samples);

  // ---- adds work, which may be captured

  void clear(Stream& stream);
  // Adds the loss of these scores: add_loss().
  void add(const Context& context, std::uint32_t size, const float* scores, float* gradient);

  // ---- once for each piece

  // Adds the copy to the host.
  void bring_back(Stream& stream);
  // Once that is done. Throws Failure (configuration) for a label outside the classes.
  [[nodiscard]] Sums sums() const;

 private:
  const LossOptions options_;
  DeviceArray<float> workspace_;
  DeviceArray<LossSums> sums_;
  PinnedArray<LossSums> pinned_;
};

}  // namespace steelyard::nn::cuda
