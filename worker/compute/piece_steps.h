// PieceSteps: the local steps of one piece, on the engine's device if that can make them, else on the host.
#pragma once

#include <steelyard/engine.h>

#include <cstdint>
#include <memory>
#include <span>

#include "core/buffer_pool.h"
#include "protocol/messages.h"
#include "worker/compute/local_stepper.h"
#include "worker/compute/local_trainer.h"

namespace steelyard {

class PieceSteps {
 public:
  // Starts the piece. All must outlive it. Takes buffers of `pool`.
  PieceSteps(Engine& engine, LocalStepper& stepper, BufferPool& pool, const Piece& piece,
             std::span<const float> parameters);
  ~PieceSteps();  // the piece may be unfinished
  PieceSteps(const PieceSteps&) = delete;
  PieceSteps& operator=(const PieceSteps&) = delete;

  // Computes the gradient of the next step.
  nn::Sums train(Samples& samples);
  // Makes the step: LocalStepper::step().
  void step(double weight, std::uint64_t pass, std::uint64_t step);
  // After the last step: the distance moved.
  const std::shared_ptr<FloatBuffer>& finish();

 private:
  Engine& engine_;
  LocalStepper& stepper_;
  const std::shared_ptr<FloatBuffer> moved_;
  LocalTrainer* trainer_;                  // null: steps are made here
  std::shared_ptr<FloatBuffer> gradient_;  // of one step, if they are
};

}  // namespace steelyard
