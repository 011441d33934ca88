// Exchange: parameters and gradient of one network, on its device and on the host, and the copies between.
//
// Parameters go to the device in the order in which the forward needs them, while it runs. Gradients come
// back as they become final, while the backward runs. Both use a stream of their own, and join the stream of
// the kernels, so that they can be captured with it.
#pragma once

#include <steelyard/model.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/interval.h"
#include "nn/cuda/runtime.h"
#include "nn/network.h"
#include "nn/network_plan.h"
#include "nn/optimizer/slice_arithmetic.h"

namespace steelyard::nn::cuda {

class Exchange {
 public:
  // `plan` and `compute`, the stream of the kernels, must outlive it.
  Exchange(const Model& model, const Plan& plan, Stream& compute);

  // Device pointers.
  [[nodiscard]] float* parameters() const { return parameters_.data(); }
  [[nodiscard]] float* gradient() const { return gradient_.data(); }
  [[nodiscard]] std::uint64_t size() const { return parameters_.size(); }  // floats of each
  [[nodiscard]] std::uint64_t bytes() const { return 2 * size() * sizeof(float); }

  // ---- on the host, while no work of the last piece is running

  // The parameters of the next micro-batches, which are copied.
  void set(std::span<const float> parameters);
  void set_zeros();
  // The same for a part of them, which begins at this place: copied by work of the stream of the kernels,
  // from the host or, if it is there, from the memory of device `index`.
  void set_there(std::uint64_t begin, const SliceValues& part, unsigned index);
  // A micro-batch that takes the gradient back is about to be added.
  void expect_gradient();
  // Writes the ranges that came back since the last call, in the order in which they became final. Calls
  // `on_final`, if any, for each. Returns whether all have come.
  bool collect(std::span<float> gradient, const FinalRange& on_final);
  void synchronize() { copies_.synchronize(); }

  // ---- work of a micro-batch, which may be captured

  // Adds the copies of all parameters.
  void bring();
  // Kernels added from now on wait for the parameters of this step.
  void wait_for(std::size_t step);
  // The last kernel that adds to the gradients of this step has been added: adds the copies back. Called for
  // each step that learns, in the order of the backward.
  void take_back(std::size_t step);
  // Work added from now on waits for all copies.
  void join();

 private:
  [[nodiscard]] bool arrived(std::size_t range) const;

  const Plan& plan_;
  Stream& compute_;
  Stream copies_;
  DeviceArray<float> parameters_, gradient_;
  PinnedArray<float> pinned_parameters_, pinned_gradient_;
  DeviceArray<std::uint32_t> one_;
  PinnedArray<std::uint32_t> pinned_one_;
  const std::vector<Interval> finals_;  // ranges of the gradient in the order in which they become final
  PinnedArray<std::uint32_t> marks_;    // 1: this range of finals_ has arrived in pinned_gradient_
  std::vector<std::size_t> first_;      // per step: the index of its first range in finals_
  std::size_t told_ = 0;                // ranges of finals_ collected
  Event begun_;
  std::vector<Event> brought_, given_;  // per step
};

}  // namespace steelyard::nn::cuda
