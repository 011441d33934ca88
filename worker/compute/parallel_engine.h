// ParallelEngine: several engines of one model as one, on as many threads as there are, one for each at the
// most (core/parallel.h).
//
// Micro-batch i of a piece goes to engine i mod n, with all layers. Each engine sums into a gradient of its
// own; a range that is final in all of them is added up, engine by engine, while the rest is computed. So
// equal pieces give equal bits whatever the threads, and they meet only at the end.
//
// Micro-batches are copied on their way, so that several can be under work at once: a few for each engine,
// or, where there are fewer threads than engines, up to the whole piece. What an engine throws ends the call.
#pragma once

#include <steelyard/engine.h>

#include <memory>
#include <vector>

#include "core/buffer.h"

namespace steelyard {

class ParallelEngine final : public Engine {
 public:
  struct SampleSize {
    std::uint64_t inputs = 0;  // floats
    std::uint32_t labels = 1;
  };
  // At least one engine.
  ParallelEngine(std::vector<std::unique_ptr<Engine>> engines, SampleSize sample);

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override;
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override;
  [[nodiscard]] WorkPlace work_place() const override { return WorkPlace::other_threads; }
  // With the gradients of all but the first, once they were needed.
  [[nodiscard]] std::uint64_t bytes() const override;

 private:
  const SampleSize sample_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::unique_ptr<FloatBuffer>> gradients_;  // of all engines but the first
};

}  // namespace steelyard
