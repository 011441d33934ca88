// One local step of a worker on its own copy of the parameters (worker/compute/local_stepper.h has the
// equations and the factors). nn/cuda/local_step.h does the same on a device, with the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "nn/optimizer/local_elements.h"

namespace steelyard::nn {

// What happens to floats [begin, end).
struct LocalRange {
  enum class Kind : std::uint8_t { momentum, nesterov, mean, ema };
  std::uint64_t begin = 0, end = 0;
  Kind kind = Kind::momentum;
  LocalFactors factors{};
};

// All spans have the size of the model. `first`: of a piece: `kept` and `moved` have unspecified contents.
//   gradient  summed over the positions of the step; read
//   local     the copy of the parameters
//   kept      momentum, or the first value of a running average
//   moved     the distance moved in the piece
void local_step(std::span<const LocalRange> ranges, bool first, std::span<const float> gradient,
                std::span<float> local, std::span<float> kept, std::span<float> moved);

}  // namespace steelyard::nn
