// Staging: copies micro-batches to a device, always to the same place, as captured work requires. While the
// device computes with one, the next is copied. Samples that the device keeps are named, not copied.
#pragma once

#include <steelyard/micro_batch.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "nn/cuda/context.h"
#include "nn/cuda/kept_samples.h"

namespace steelyard::nn::cuda {

class Staging {
 public:
  // For samples of this many floats, labels and targets, at most `samples` of them.
  Staging(std::uint64_t floats, std::uint32_t labels, std::uint32_t targets, std::uint32_t samples);

  // For micro-batches with MicroBatch::kept.
  void keep(std::shared_ptr<const KeptSamples> samples) { kept_ = std::move(samples); }

  // Copies the batch before it returns, and adds to `compute` the copies to the arrays below. The inputs of
  // padding samples are zeroed: their contents, perhaps NaN, must not affect any sum.
  void bring(const MicroBatch& batch, Stream& compute);

  void synchronize() { upload_.synchronize(); }

  // Device pointers.
  [[nodiscard]] const float* inputs() const { return place_.inputs.data(); }
  [[nodiscard]] const std::uint32_t* labels() const { return place_.labels.data(); }
  [[nodiscard]] const float* targets() const { return place_.targets.data(); }
  [[nodiscard]] const std::uint64_t* positions() const { return place_.positions.data(); }
  [[nodiscard]] const BatchNumbers* numbers() const { return place_.numbers.data(); }
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  template <template <class> class Kind>
  struct Arrays {
    // At least one target, since no array is empty.
    Arrays(std::uint64_t floats, std::uint64_t all_labels, std::uint64_t all_targets, std::uint32_t samples)
        : inputs(floats),
          labels(all_labels),
          targets(std::max<std::uint64_t>(all_targets, 1)),
          positions(samples),
          numbers(1) {}
    Kind<float> inputs;
    Kind<std::uint32_t> labels;
    Kind<float> targets;
    Kind<std::uint64_t> positions;
    Kind<BatchNumbers> numbers;
  };
  // One of two buffers for batches being copied.
  struct Slot {
    Slot(std::uint64_t floats, std::uint64_t labels, std::uint64_t targets, std::uint32_t samples)
        : pinned(floats, labels, targets, samples),
          device(floats, labels, targets, samples),
          pinned_kept(samples),
          kept(samples) {}
    Arrays<PinnedArray> pinned;
    Arrays<DeviceArray> device;
    PinnedArray<KeptSample> pinned_kept;  // in place of inputs
    DeviceArray<KeptSample> kept;
    Event arrived;  // is on the device
    Event taken;    // was copied to place_
  };

  void fill(const MicroBatch& batch, Slot& slot) const;
  template <template <class> class From>
  void copy(Stream& stream, const Arrays<DeviceArray>& to, const Arrays<From>& from,
            const MicroBatch& batch) const;

  const std::uint64_t floats_;
  const std::uint32_t labels_, targets_;
  std::shared_ptr<const KeptSamples> kept_;  // may be null
  Arrays<DeviceArray> place_;
  std::array<std::unique_ptr<Slot>, 2> slots_;
  std::size_t turn_ = 0;
  Stream upload_;
};

}  // namespace steelyard::nn::cuda
