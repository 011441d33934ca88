// The update rules: how the sum of a round's gradients turns one version of a slice into the
// next. Servers call them.
//
// With sum = the sum of what was pushed, scale = 1 / its summed weight (times a clipping factor, if any),
// rate = the schedule's times the range's factor, d = weight_decay times the range's factor (Range::rate and
// Range::decay in core/layout.h), t = this step's number from 1 on:
//
//   sgd        g = scale * sum + d * w,  w' = w - rate * g
//   momentum   g as sgd,  m' = momentum * m + g,  w' = w - rate * m'
//   nesterov   g as sgd,  m' = momentum * m + g,  w' = w - rate * (g + momentum * m')
//   adam       g as sgd,  m' = beta1 * m + (1 - beta1) * g,  v' = beta2 * v + (1 - beta2) * g^2
//              u = m' / (1 - beta1^t) / (sqrt(v' / (1 - beta2^t)) + epsilon),  w' = w - rate * u
//   adamw      g = scale * sum,  m', v', u as adam,  w' = w - rate * d * w - rate * u
//   lars       g = scale * sum,  m' = momentum * m + rate * ratio * (g + d * w),  w' = w - m'
//              ratio = trust * |w| / (|g| + d * |w|)
//   lamb       g, m', v', u as adamw,  r = u + d * w,  w' = w - rate * ratio * r,  ratio = |w| / |r|
//
// The first five are PyTorch's (torch.optim.SGD without dampening, Adam, AdamW), whose parameter groups with
// rates and decays of their own are ranges here. lars is algorithm 1 of You,
// Gitman, Ginsburg, "Large batch training of convolutional networks" (2017), which has the rate inside the
// momentum; lamb is algorithm 2 of You et al., "Large batch optimization for deep learning: training BERT in
// 76 minutes" (2020). Elsewhere the rate is outside of the momentum, so a change of it acts at once.
//
// |.| of lars and lamb are norms of a whole tensor (layout_for). The ratio is 1 where a norm is zero, and, as
// is usual, in ranges without decay: biases, scales and shifts. State starts at zero.
//
// Ranges of other rules (Range in core/layout.h):
//
//   mean       w' = w + scale * sum                      (pushed: differences of parameters)
//   ema        w' = keep * w + (1 - keep) * scale * sum  (pushed: statistics of batches; PyTorch's batch norm
//                                                        calls 1 - keep its momentum)
//
// One sweep over memory, in float; lars and lamb read a slice a second time for the norms. The value of an
// element does not depend on where the slice was cut around it: any number of shards has the same result, bit
// for bit, on processors of one level.
#pragma once

#include <cstdint>
#include <span>

#include "core/layout.h"
#include "core/processor.h"
#include "nn/optimizer/vector.h"

namespace steelyard::nn {

struct Optimizer {
  enum class Kind : std::uint8_t { sgd, momentum, nesterov, adam, adamw, lars, lamb };

  Kind kind = Kind::momentum;
  double momentum = 0.9;  // of momentum, nesterov and lars, in [0, 1)
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999;  // of adam, adamw and lamb, in [0, 1)
  double epsilon = 1e-8;              // of adam, adamw and lamb, above 0
  double trust = 0.001;               // of lars, above 0
};

// Throws Failure (configuration) for numbers outside their range.
void validate(const Optimizer& optimizer);

// How many floats of state an optimizer keeps for each parameter: 0, 1 or 2.
std::uint32_t state_slots(const Optimizer& optimizer);

// Whether a step grows with the gradient (sgd, momentum, nesterov), so that parts of an update may be applied
// one by one. The others take steps of a length of their own.
bool is_linear(const Optimizer& optimizer);
// Whether it needs norms of whole tensors: lars and lamb.
bool needs_norms(const Optimizer& optimizer);

// A model's layout as this optimizer needs it. With norms, each tensor that is stepped and has decay becomes
// a range and a norm group of its own.
Layout layout_for(const Optimizer& optimizer, const Layout& model);

// One slice: its buffers are equally long and may have any alignment. `out` overlaps no other, for readers
// may still hold the old version.
struct Update {
  std::span<float> out;               // the next version
  std::span<const float> parameters;  // the version before
  std::span<const float> sum;         // of what was pushed
  double scale = 1;
  std::uint64_t steps = 0;  // that the slice has taken before this one
  // Pushed too, and not in `sum` yet: added on the way, which saves a sweep. Empty: nothing is. Not for lars
  // and lamb.
  std::span<const float> last{};
};

// `state` is the slice's, slot after slot, read and written: m, then v; empty if state_slots() is 0. `rate`
// has the range's factor in it; `decay` is the range's factor on the optimizer's weight decay. lars and lamb
// step with the ratio 1.
void step(const Optimizer& optimizer, const Update& update, std::span<float> state, double rate, double decay,
          Level level = cpu_level());
void mean_step(const Update& update, Level level = cpu_level());
void ema_step(const Update& update, double keep, Level level = cpu_level());

// The step of lars and lamb of a tensor that lies in several slices: measure() for each of them, in order;
// then finish() for each, with the same update and state.
class TensorStep {
 public:
  explicit TensorStep(const Optimizer& optimizer, double decay, Level level = cpu_level());
  void measure(const Update& update, std::span<float> state);
  [[nodiscard]] double ratio() const;
  void finish(const Update& update, std::span<float> state, double rate, double ratio) const;

 private:
  const Optimizer optimizer_;
  const double decay_;
  const Level level_;
  SquareSum parameters_, direction_;  // of w; of lars's sum, of lamb's r
  double scale_ = 1;                  // of lars's sum
};

}  // namespace steelyard::nn
