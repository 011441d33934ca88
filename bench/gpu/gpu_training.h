// Rounds of a built-in model on the device, as a worker computes them: parameters to the device,
// micro-batches from the host's memory, their summed gradient back. Updates are the task of servers.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/gpu/gpu_models.h"
#include "core/buffer_pool.h"
#include "core/device_name.h"
#include "nn/cuda/cuda_network.h"

namespace steelyard::bench {

class Training {
 public:
  // Micro-batches of `samples` random samples, or fewer if the device has too little memory. 0: as many as a
  // worker chooses.
  Training(const GpuModel& of, std::uint32_t samples, Precision precision);

  // Throws WrongResult if the loss or a number of the gradient is not finite, or the gradient is zero.
  void round(unsigned micro_batches);
  // Seconds of wall-clock time of one round: the median of several.
  double round_seconds(unsigned micro_batches);

  [[nodiscard]] std::uint32_t samples() const { return batch_.size; }
  [[nodiscard]] const nn::Model& model() const { return model_; }
  [[nodiscard]] std::uint64_t bytes() const { return network_->bytes(); }

 private:
  nn::Model model_;
  std::unique_ptr<nn::cuda::Network> network_;
  RandomSamples random_;
  BufferPool pool_;
  const std::shared_ptr<FloatBuffer> parameters_, gradient_;  // as a worker has them
  nn::MicroBatch batch_;
};

}  // namespace steelyard::bench
