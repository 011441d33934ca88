// KeptSamples: the samples of a job's data sets in the memory of a device, a byte for each number, and the
// kernel that shows them to a network: without and with a window (KeptSample in
// include/steelyard/micro_batch.h). A byte is the code of a number: each channel has a table of at most 256
// numbers. So inputs have the bits that the host would copy, for a few bytes a sample across the bus.
#pragma once

#include <steelyard/micro_batch.h>
#include <steelyard/shape.h>

#include <cstdint>
#include <span>

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

inline constexpr std::uint32_t codes_each = 256;  // of a channel

class KeptSamples {
 public:
  // On device `index`, for samples of this shape, channels last. Contents unspecified until bring() and
  // set_numbers() have returned. Throws OutOfMemory.
  KeptSamples(unsigned index, Shape shape, std::uint64_t samples);

  // Copies whole samples, the first of which is number `first`. Waits.
  void bring(std::uint64_t first, std::span<const std::uint8_t> codes);
  // `table`: codes_each numbers for each channel, channel by channel. `fill`: one number for each channel,
  // for what lies beyond a picture. Waits.
  void set_numbers(std::span<const float> table, std::span<const float> fill);

  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] std::uint64_t bytes() const { return codes_.size(); }  // without the tables

  // Adds the work that writes `size` inputs: what `kept` shows for the first `count`, zeros for the others.
  // Device pointers; every KeptSample::index is below samples(). Any thread and stream of the device.
  void show(Stream& stream, const KeptSample* kept, std::uint32_t size, std::uint32_t count,
            float* inputs) const;

  // Bytes that samples may take on device `index`, beside `reserved` bytes of others: a sixteenth of what is
  // free, since networks need the rest more.
  [[nodiscard]] static std::uint64_t room_on(unsigned index, std::uint64_t reserved);

 private:
  const Shape shape_;
  const std::uint64_t samples_;
  DeviceArray<std::uint8_t> codes_;
  DeviceArray<float> table_, fill_;
};

}  // namespace steelyard::nn::cuda
