// Local steps (nn/optimizer/local_step.h) on a device: the same rules, with the same bits, on its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nn/cuda/runtime.h"
#include "nn/optimizer/local_step.h"

namespace steelyard::nn::cuda {

class LocalSteps {
 public:
  // `stream`, that of the network, must outlive it. `floats`: of the model. Throws OutOfMemory.
  LocalSteps(Stream& stream, std::uint64_t floats);

  // Adds the work of a step. `gradient` and `local` are device pointers. The ranges lie at the same places in
  // every call; when it is called, the work of earlier calls must be done.
  void step(std::span<const LocalRange> ranges, bool first, const float* gradient, float* local);
  [[nodiscard]] const float* moved() const { return moved_.data(); }

  // A part of a range, for one block of the kernel.
  struct Part {
    std::uint64_t begin = 0;
    std::uint32_t size = 0, range = 0;
  };

 private:
  void divide(std::span<const LocalRange> ranges);

  Stream& stream_;
  DeviceArray<float> kept_, moved_;
  std::optional<DeviceArray<Part>> parts_;  // since the first step
  std::optional<DeviceArray<LocalRange>> ranges_;
  std::optional<PinnedArray<LocalRange>> pinned_ranges_;
};

}  // namespace steelyard::nn::cuda
