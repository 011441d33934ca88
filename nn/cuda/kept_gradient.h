// KeptGradient: hands out gradients of one network that stay on its device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/flat_pool.h"
#include "core/layout.h"
#include "nn/cuda/device_values.h"

namespace steelyard::nn::cuda {

class KeptGradient {
 public:
  // For gradients of `floats` on device `index`, written by work of `stream`, which must outlive it.
  KeptGradient(unsigned index, std::uint64_t floats, Stream& stream);
  ~KeptGradient();  // waits for the stream
  KeptGradient(const KeptGradient&) = delete;
  KeptGradient& operator=(const KeptGradient&) = delete;

  // Copies the gradient, once all work added to the stream so far is done, and returns its slices. Does not
  // wait. Each knows whether it is finite (one flag a slice, which comes back with the last of them). Copies
  // on the host are made in `host`; null: in private memory.
  [[nodiscard]] std::vector<std::shared_ptr<const DeviceValues>> keep(const float* gradient,
                                                                      std::span<const Slice> slices,
                                                                      const std::shared_ptr<FlatPool>& host);

 private:
  // Whether the slices of one gradient are not finite.
  struct Flags {
    explicit Flags(std::size_t slices) : bad(slices) {}
    PinnedArray<std::uint32_t> bad;
    Event arrived;
  };
  [[nodiscard]] std::shared_ptr<Flags> flags(std::size_t slices);

  const unsigned index_;
  const std::uint64_t floats_;
  Stream& stream_;
  DevicePool pool_;
  std::unique_ptr<DeviceArray<std::uint32_t>> bad_;  // by slice
  std::vector<std::shared_ptr<Flags>> flags_;        // reused once no gradient refers to them
  std::uint64_t kept_ = 0;                           // gradients so far
};

}  // namespace steelyard::nn::cuda
