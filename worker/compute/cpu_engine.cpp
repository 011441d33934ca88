#include "worker/compute/cpu_engine.h"

#include "nn/cpu/onednn.h"

namespace steelyard {

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
  std::vector<std::uint32_t> sizes(nn::micro_batch_sizes.begin(), nn::micro_batch_sizes.end());
  std::erase_if(sizes, [&](std::uint32_t size) { return size > model_.micro_batch(); });
  return sizes;
}

// Asked for where there is not enough memory, so nothing of that size is made here.
std::uint64_t CpuEngine::bytes() const {
  const std::uint64_t input = model_.input().size() * model_.micro_batch() * sizeof(float);
  return input + nn::make_plan(model_, nn::Backend::cpu).bytes();
}

}  // namespace steelyard
