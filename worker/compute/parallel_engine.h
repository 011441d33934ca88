// ParallelEngine: combines n engines of one model, on as many threads as are available, at most one per
// engine (core/parallel.h).
//
// Engine i mod n computes micro-batch i of a piece, through all layers. Each engine sums into a separate
// gradient; once a range is final in all of them, it is added up in the order of the engines while the rest
// is computed. Equal pieces therefore give equal bits for any number of threads, and engines synchronise only
// at the end.
//
// Micro-batches are copied when they are dealt out, so that several can be computed at once: a few per
// engine, or up to the whole piece if there are fewer threads than engines. An exception in any engine ends
// the call.
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
    std::uint32_t labels = 1, targets = 0;
  };
  // At least one engine.
  ParallelEngine(std::vector<std::unique_ptr<Engine>> engines, SampleSize sample);

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override;
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override;
  [[nodiscard]] WorkPlace work_place() const override { return WorkPlace::other_threads; }
  // Includes the gradients of all engines but the first, once allocated.
  [[nodiscard]] std::uint64_t bytes() const override;

 private:
  const SampleSize sample_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::unique_ptr<FloatBuffer>> gradients_;  // of all engines but the first
};

}  // namespace steelyard
