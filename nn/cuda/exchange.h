// Exchange: parameters and gradient of one network, on its device and on the host, and the copies between.
//
// Values are copied in buckets (nn/cuda/buckets.h) on a stream of their own: parameters in the order in which
// the forward needs them, while it runs; gradients as they become final, while the backward runs. The copies
// are directly from and to the caller's memory if the device can reach it (nn/cuda/reachable.h). Otherwise
// they pass through pinned memory, which is allocated when it is first needed.
//
// Events connect the copies with the stream of the kernels. Graphs contain the kernels and these events but
// not the copies, whose addresses change from piece to piece.
#pragma once

#include <steelyard/model.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/device_values.h"
#include "nn/cuda/buckets.h"
#include "nn/cuda/runtime.h"
#include "nn/network.h"
#include "nn/network_plan.h"

namespace steelyard::nn::cuda {

class Exchange {
 public:
  // `compute`, the stream of the kernels, must outlive it. Buckets have at least `least` floats.
  Exchange(const Model& model, const Plan& plan, Stream& compute, std::uint64_t least);

  // Device pointers.
  [[nodiscard]] float* parameters() const { return parameters_.data(); }
  [[nodiscard]] float* gradient() const { return gradient_.data(); }
  [[nodiscard]] std::uint64_t size() const { return parameters_.size(); }  // floats of each
  [[nodiscard]] std::uint64_t bytes() const { return 2 * size() * sizeof(float); }

  // ---- one piece; no work of the last one may be running

  // Adds the copies of the parameters to the device. Both must stay until synchronize(): the parameters, and
  // the memory to which collect() will write the gradient, if it is given here already.
  void bring(std::span<const float> parameters, std::span<float> gradient);
  void bring_zeros();
  // The same for parameters of which some are on device `index`: bring_part() for each part, which begins at
  // this place and must stay until synchronize(), then all_brought(). No gradient will be collected.
  void bring_part(std::uint64_t begin, const SliceValues& part, unsigned index);
  void all_brought();
  // All work of the last micro-batch was added: adds the copies of the gradient to the host.
  void take_back();
  // The same for other values of the device, of the size of a gradient, once the work added so far is done.
  void take_back(const float* values);
  // Waits for each bucket of the gradient, in the order in which they become final, and writes it. Calls
  // `on_final`, if any, for its ranges.
  void collect(std::span<float> gradient, const FinalRange& on_final);
  // Waits for all copies.
  void synchronize() { copies_.synchronize(); }

  // ---- among the kernels of a micro-batch, which may be captured

  // Forward: kernels added from now on wait for the parameters of this step.
  void wait_for(std::size_t step);
  // Backward: the last kernel that adds to the gradients of this step has been added.
  void give(std::size_t step);

 private:
  // Events are of buckets, of which each begins or ends at one step.
  using Events = std::deque<Event>;
  using OfSteps = std::vector<std::optional<std::size_t>>;

  void take_back(std::size_t bucket, const float* values);

  Stream& compute_;
  Stream copies_;
  DeviceArray<float> parameters_, gradient_;
  std::optional<PinnedArray<float>> pinned_parameters_, pinned_gradient_;
  float* destination_ = nullptr;  // of the gradient
  const std::vector<Bucket> to_device_, to_host_;
  OfSteps first_used_, completed_;  // by step: the bucket that it uses first, the one that it completes
  Events brought_, given_, arrived_;
  Event done_;
};

}  // namespace steelyard::nn::cuda
