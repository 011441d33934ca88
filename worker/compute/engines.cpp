#include "worker/compute/engines.h"

#include <algorithm>
#include <numeric>

#include "nn/cpu/onednn.h"
#include "nn/cuda/cuda_network.h"
#include "worker/compute/checked_engine.h"

namespace steelyard {

// oneDNN plans its primitives for the threads that it detects.
nn::Network& CpuEngine::network() {
  if (!network_) {
    nn::onednn::use_this_thread_only();
    network_.emplace(model_);
  }
  return *network_;
}

// The first micro-batch overwrites the gradient; the last one makes it final, layer by layer.
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

// If shares are normalised, every share is a micro-batch of its own size.
std::vector<std::uint32_t> CpuEngine::micro_batch_sizes() const {
  if (model_.normalizes_shares()) {
    std::vector<std::uint32_t> all(model_.micro_batch());
    std::iota(all.rbegin(), all.rend(), 1U);
    return all;
  }
  std::vector<std::uint32_t> sizes(nn::micro_batch_sizes.begin(), nn::micro_batch_sizes.end());
  std::erase_if(sizes, [&](std::uint32_t size) { return size > model_.micro_batch(); });
  return sizes;
}

// Called when memory is short, so it allocates nothing large.
std::uint64_t CpuEngine::bytes() const {
  const std::uint64_t input = model_.input().size() * model_.micro_batch() * sizeof(float);
  return input + nn::make_plan(model_, nn::Backend::cpu).bytes();
}

namespace {

class CudaEngine final : public Engine {
 public:
  CudaEngine(const nn::Model& model, unsigned index) : network_(model, index) {}

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override {
    network_.begin(parameters);
    while (const nn::MicroBatch* batch = samples.next()) network_.train(*batch, samples.at_end());
    return network_.finish(gradient, on_final);
  }

  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override {
    network_.begin(parameters);
    while (const nn::MicroBatch* batch = samples.next()) network_.evaluate(*batch);
    return network_.finish({}, {});
  }

  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override {
    return network_.micro_batch_sizes();
  }
  [[nodiscard]] std::uint64_t bytes() const override { return network_.bytes(); }
  [[nodiscard]] WorkPlace work_place() const override { return WorkPlace::other_device; }

 private:
  nn::cuda::Network network_;
};

}  // namespace

// The host executor has one device, number 0.
std::unique_ptr<Engine> make_cuda_engine(const nn::Model& model, const Device& device, Precision precision) {
  nn::Model own = model;
  own.multiply_in(precision);
  return std::make_unique<CheckedEngine>(std::make_unique<CudaEngine>(own, device.number), model, precision,
                                         name(device));
}

}  // namespace steelyard
