#include "worker/compute/cpu_engine.h"

#include <algorithm>

#include "core/check.h"
#include "nn/cpu/onednn.h"

namespace steelyard {

CpuEngine::CpuEngine(const nn::Model& model, unsigned threads) : model_(model) {
  CHECK(threads > 0, "an engine computes with a thread");
  model_.check();
}

// oneDNN plans its primitives for the threads that it sees.
nn::Network& CpuEngine::network() {
  if (!network_) {
    nn::onednn::use_this_thread_only();
    network_.emplace(model_);
  }
  return *network_;
}

// The first micro-batch overwrites the gradient, and the last one makes it final, layer by layer.
nn::Sums CpuEngine::train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                          const FinalRange& on_final) {
  nn::Sums sums;
  bool add = false;
  while (const nn::MicroBatch* batch = samples.next()) {
    sums += network().train(parameters, *batch, gradient, add, samples.at_end() ? &on_final : nullptr);
    add = true;
  }
  return sums;
}

nn::Sums CpuEngine::evaluate(std::span<const float> parameters, Samples& samples) {
  nn::Sums sums;
  while (const nn::MicroBatch* batch = samples.next()) sums += network().evaluate(parameters, *batch);
  return sums;
}

std::vector<std::uint32_t> CpuEngine::micro_batch_sizes() const {
  return {nn::micro_batch_sizes.begin(), nn::micro_batch_sizes.end()};
}

// Activations are kept from forward to backward; their gradients take two buffers by turns.
std::uint64_t CpuEngine::bytes() const {
  std::uint64_t activations = model_.input().size(), largest = activations;
  for (const nn::Layer& layer : model_.layers()) {
    activations += layer.output.size();
    largest = std::max<std::uint64_t>(largest, layer.output.size());
  }
  return (activations + 2 * largest) * nn::largest_micro_batch * sizeof(float);
}

}  // namespace steelyard
