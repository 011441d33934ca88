// Network: one model on one thread of a CPU. It owns all scratch memory, sized once for the largest
// micro-batch, and no parameters: parameters and gradient are flat buffers of the caller, laid out by
// Model::layout().
//
// Not thread-safe, but cheap enough to have one per thread; may be moved, also to another thread.
//
//   Network network(model);
//   Sums sums = network.train(parameters, batch, gradient, /*add=*/false, nullptr);
//
// All sums, of loss and gradient alike, are over the real samples of a micro-batch (batch.count), not means,
// so they can be added over micro-batches, pieces and workers in any grouping. (With batch norm a micro-batch
// is a grain of the round: Model::grain().)
#pragma once

#include <steelyard/micro_batch.h>
#include <steelyard/model.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "nn/loss.h"
#include "nn/network_plan.h"
#include "nn/step_calls.h"

namespace steelyard::nn {

// Called when the gradient of floats [begin, end) is final in this call. The ranges cover every float once,
// roughly from the last tensors of the graph to the first.
using FinalRange = std::function<void(std::uint64_t begin, std::uint64_t end)>;

class Network {
 public:
  // Throws Failure (configuration) if the model is incomplete.
  explicit Network(const Model& model, Backend backend = Backend::cpu);

  // Ops may keep copies of parameters in another form, which each call renews: unless its parameters are
  // those of the call before, as in the micro-batches of a piece. Holds from the next call on.
  void expect_same_parameters(bool same) { same_parameters_ = same; }

  // Forward and backward. The gradient is written, or added to with `add`. `on_final` may be null.
  Sums train(std::span<const float> parameters, const MicroBatch& batch, std::span<float> gradient, bool add,
             const FinalRange* on_final);

  // Forward only, without dropout.
  Sums evaluate(std::span<const float> parameters, const MicroBatch& batch);

  // The scores of the real samples: [sample][label][class]. Labels are not read.
  void predict(std::span<const float> parameters, const MicroBatch& batch, std::span<float> scores);

  [[nodiscard]] const Model& model() const { return model_; }

  [[nodiscard]] std::vector<std::string> implementations() const { return plan_.implementations(); }

 private:
  void forward(std::span<const float> parameters, const MicroBatch& batch, bool training);
  void backward(std::span<const float> parameters, const MicroBatch& batch, std::span<float> gradient,
                bool add, const FinalRange* on_final);
  Sums loss(const Pass& pass, float* gradient) const;
  const float* staged(const MicroBatch& batch);
  PlanBuffers buffers(std::span<const float> parameters, std::span<float> gradient);
  [[nodiscard]] const PlannedValue& scores() const { return plan_.values[plan_.steps.back().output]; }
  [[nodiscard]] Strides strides(const Pass& pass) const;

  // Constant after construction.
  Model model_;
  Plan plan_;

  // Scratch: not kept between two calls.
  std::unique_ptr<FloatBuffer> arena_;
  std::unique_ptr<FloatBuffer> padded_;  // inputs of a micro-batch that is not full
  const float* input_ = nullptr;         // of the running call
  bool same_parameters_ = false;
  StepCalls calls_;
};

}  // namespace steelyard::nn
