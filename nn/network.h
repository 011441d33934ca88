// Network: one model on one thread of a CPU. It owns all scratch memory, sized once for the
// largest micro-batch, and no parameters: those and the gradient are flat buffers of the caller,
// laid out by Model::layout().
//
// Not for two threads at a time, and cheap enough to have one for each; may be moved, also to another thread.
//
//   Network network(model);
//   Sums sums = network.train(parameters, batch, gradient, /*add=*/false, nullptr);
//
// All sums, of loss and gradient alike, are over the real samples of a micro-batch (batch.count), not means:
// they can be added over micro-batches, pieces and workers in any grouping.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nn/loss.h"
#include "nn/micro_batch.h"
#include "nn/model.h"
#include "nn/plan.h"

namespace steelyard::nn {

// Called when the gradient of floats [begin, end) will change no more in this call: last layer first, each
// interval ending where the one before began, from the end of the buffer down to 0.
using FinalRange = std::function<void(std::uint64_t begin, std::uint64_t end)>;

class Network {
 public:
  // Throws Failure (configuration) if the model is not complete.
  explicit Network(const Model& model, Kernels kernels = Kernels::fast);

  // Forward and backward. The gradient is written, or added to what is there with `add`.
  // `on_final` may be null.
  Sums train(std::span<const float> parameters, const MicroBatch& batch, std::span<float> gradient, bool add,
             const FinalRange* on_final);

  // Forward only, without dropout.
  Sums evaluate(std::span<const float> parameters, const MicroBatch& batch);

  // The scores of the real samples: [sample][class]. Labels are not read.
  void predict(std::span<const float> parameters, const MicroBatch& batch, std::span<float> scores);

  [[nodiscard]] const Model& model() const { return model_; }

  // What computes each step, as "conv1: direct".
  [[nodiscard]] std::vector<std::string> implementations() const;

 private:
  void forward(std::span<const float> parameters, const MicroBatch& batch, bool training);
  void backward(std::span<const float> parameters, const MicroBatch& batch, std::span<float> gradient,
                bool add, const FinalRange* on_final);
  const float* staged(const MicroBatch& batch);
  [[nodiscard]] const float* input_of(std::size_t step) const;
  [[nodiscard]] const float* scores() const { return plan_.steps.back().output->data(); }
  [[nodiscard]] Strides strides(const MicroBatch& batch) const;

  // Constant after construction.
  Model model_;
  Plan plan_;

  // Scratch: means nothing between two calls.
  std::unique_ptr<FloatBuffer> padded_;        // inputs of a micro-batch that is not full
  std::unique_ptr<FloatBuffer> gradients_[2];  // of the activations, by turns
  const float* input_ = nullptr;               // of the call that runs
};

}  // namespace steelyard::nn
