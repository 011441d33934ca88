// CpuEngine: a model of nn on one thread of a CPU.
#pragma once

#include <optional>

#include "nn/network.h"
#include "worker/compute/engine.h"

namespace steelyard {

class CpuEngine final : public Engine {
 public:
  // Throws Failure (configuration) if the model is not complete. `threads` is at least 1; so far all work is
  // done by one.
  explicit CpuEngine(const nn::Model& model, unsigned threads = 1);

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override;
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override;
  [[nodiscard]] std::uint64_t bytes() const override;

 private:
  nn::Network& network();

  const nn::Model model_;
  std::optional<nn::Network> network_;  // made by the thread that runs it
};

}  // namespace steelyard
