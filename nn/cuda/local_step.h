// Local steps (nn/optimizer/local_step.h) on a device: the same rules, with the same bits, on its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/interval.h"
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

  // sum_of_squares_in() of these ranges of a gradient on the device (nn/optimizer/clipping.h), with the same
  // bits. The ranges are the same in every call. Waits for all work of the stream.
  [[nodiscard]] double sum_of_squares(std::span<const Interval> ranges, const float* gradient);

  // A part of a range, for one block of a kernel.
  struct Part {
    std::uint64_t begin = 0;
    std::uint32_t size = 0, range = 0;
  };

 private:
  // Copies the parts of ranges to the device. Waits.
  [[nodiscard]] DeviceArray<Part> divided(std::span<const Interval> ranges);

  Stream& stream_;
  DeviceArray<float> kept_, moved_;
  std::optional<DeviceArray<Part>> parts_;  // since the first step
  std::optional<DeviceArray<LocalRange>> ranges_;
  std::optional<PinnedArray<LocalRange>> pinned_ranges_;
  std::optional<DeviceArray<Part>> norm_parts_;  // since the first norm
  std::optional<DeviceArray<double>> squares_;   // of each
  std::optional<PinnedArray<double>> pinned_squares_;
};

}  // namespace steelyard::nn::cuda
