// The update rules: how the sum of a round's gradients turns one version of a slice into the
// next. Servers call them.
//
// With sum = the sum of what was pushed and scale = 1 / its summed weight (times a clipping factor, if any):
//
//   step       g  = scale * sum + weight_decay * w      (the decay only where the range asks for it)
//     sgd        w' = w - rate * g
//     momentum   m' = momentum * m + g,  w' = w - rate * m'
//     nesterov   m' = momentum * m + g,  w' = w - rate * (g + momentum * m')
//   mean       w' = w + scale * sum                     (what is pushed are differences of parameters)
//   ema        w' = keep * w + (1 - keep) * scale * sum (what is pushed are statistics of batches)
//
// These are PyTorch's definitions (torch.optim.SGD without dampening; momentum of batch norm = 1 - keep): the
// rate is outside of the momentum buffer, so a change of rate acts at once. The state m starts at zero.
//
// One sweep over memory, in float. The value of an element does not depend on where the slice was cut around
// it: any number of shards has the same result, bit for bit, on processors of one level.
#pragma once

#include <cstdint>
#include <span>

#include "core/level.h"

namespace steelyard::nn {

struct Optimizer {
  enum class Kind : std::uint8_t { sgd, momentum, nesterov };

  Kind kind = Kind::momentum;
  double momentum = 0.9;  // of momentum and nesterov, in [0, 1)
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999;  // of adam, adamw and lamb, in [0, 1)
  double epsilon = 1e-8;              // of adam, adamw and lamb, added to the root of the second moment
  double trust = 0.001;               // of lars: the rate's share of |w| / |g|
};

// Throws Failure (configuration) for numbers outside their range.
void validate(const Optimizer& optimizer);

// How many floats of state an optimizer keeps for each parameter: 0 or 1.
std::uint32_t state_slots(const Optimizer& optimizer);

// One slice: its buffers are equally long and may have any alignment. `out` overlaps no other, for readers
// may still hold the old version.
struct Update {
  std::span<float> out;               // the next version
  std::span<const float> parameters;  // the version before
  std::span<const float> sum;         // of what was pushed
  double scale = 1;
};

// `state` is the slice's momentum, read and written (empty if state_slots() is 0).
void step(const Optimizer& optimizer, const Update& update, std::span<float> state, double rate, bool decay,
          Level level = cpu_level());
void mean_step(const Update& update, Level level = cpu_level());
void ema_step(const Update& update, double keep, Level level = cpu_level());

}  // namespace steelyard::nn
