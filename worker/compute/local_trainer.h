// LocalTrainer: makes the local steps of a piece where the engine computes, so that parameters stay on its
// device from the first step of a piece to the last. worker/compute/local_stepper.h makes them on the host
// for all other engines; results have the same bits if the gradients have.
#pragma once

#include <steelyard/engine.h>

#include <span>

#include "core/interval.h"
#include "nn/optimizer/local_step.h"

namespace steelyard {

// Called on the compute thread. Each begin() that returns true is followed by end().
class LocalTrainer {
 public:
  virtual ~LocalTrainer() = default;
  // Starts a piece. Both must stay until end(). False if the device lacks memory for steps: they are then
  // made on the host.
  virtual bool begin(std::span<const float> parameters, std::span<float> moved) = 0;
  // Computes the gradient of a step at the parameters after the last one. The gradient stays on the device.
  virtual nn::Sums train(Samples& samples) = 0;
  // Computes sum_of_squares_in() of this gradient, with the same bits (nn/optimizer/clipping.h).
  virtual double sum_of_squares(std::span<const Interval> ranges) = 0;
  // Makes the step with this gradient.
  virtual void step(std::span<const nn::LocalRange> ranges, bool first) = 0;
  // After the last step: writes the distance moved in the piece.
  virtual void finish(std::span<float> moved, const FinalRange& on_final) = 0;
  // The piece ended, finished or not: none of its memory is in use any more.
  virtual void end() = 0;
};

}  // namespace steelyard
