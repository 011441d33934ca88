// Network: one model on one CUDA device, for one thread at a time. It owns what it needs there: parameters,
// gradient, activations, and staging memory; all of it is taken when it is made, and nothing later.
//
//   Network network(model, 0);
//   network.begin(parameters);
//   for (...) network.train(batch, is_last);            // work goes on behind
//   const Sums sums = network.finish(gradient, on_final);  // waits
//
// What a micro-batch needs - copies to the device, kernels, and with the last one copies back - is captured
// once for each size as a graph, and run as one. Parameters go to the device in the order in which the
// forward needs them, while it runs; with the last micro-batch, gradients come back as they become final,
// while the backward goes on.
//
// Micro-batches may be larger than the grain of a batch norm: statistics are those of each grain.
#pragma once

#include <steelyard/micro_batch.h>
#include <steelyard/model.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nn/loss.h"

namespace steelyard::nn::cuda {

using FinalRange = std::function<void(std::uint64_t begin, std::uint64_t end)>;

class Network {
 public:
  // On device `index`. Computes up to `max_samples` samples at once, or fewer, if the device has no memory
  // for so many: half, and half again. Throws Failure (configuration) if there is no such device, or if it
  // cannot hold a single sample (or grain).
  Network(const Model& model, unsigned index, std::uint32_t max_samples = 256);
  ~Network();

  // Powers of two, largest first, down to 1.
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const;

  // What comes until finish() is for these parameters, which are copied.
  void begin(std::span<const float> parameters);
  // The batch is copied before the call returns.
  void train(const MicroBatch& batch, bool last);
  void evaluate(const MicroBatch& batch);
  // Waits for all work since begin(). If a micro-batch was the last one, writes the gradient, and calls
  // `on_final` for each range of it, as it comes. Throws Failure (configuration) if a label is no class.
  Sums finish(std::span<float> gradient, const FinalRange& on_final);

  [[nodiscard]] std::uint64_t bytes() const;  // of the device
  // What computes each step, as "conv1: cudnn".
  [[nodiscard]] std::vector<std::string> implementations() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace steelyard::nn::cuda
