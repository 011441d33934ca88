// The update rules: how the sum of a round's gradients makes the next version of a slice. Called by servers.
//
// With sum = the sum of the pushes, scale = 1 / its summed weight (times a clipping factor, if any), rate =
// the schedule's times the range's factor, d = weight_decay times the range's factor (Range::rate and
// Range::decay in include/steelyard/parameters.h), t = this step's number from 1 on:
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
//   worker     w' = scale * sum: servers only average, and workers take the steps (protocol/state_messages.h)
//
// The first five are PyTorch's (torch.optim.SGD without dampening, Adam, AdamW); its parameter groups with
// separate rates and decays are ranges here. lars is algorithm 1 of You, Gitman, Ginsburg, "Large batch
// training of convolutional networks" (2017), with the rate inside the momentum; lamb is algorithm 2 of You
// et al., "Large batch optimization for deep learning: training BERT in 76 minutes" (2020). In the other
// rules the rate is outside the momentum, so a change of it acts at once.
//
// |.| of lars and lamb are norms of a whole tensor (layout_for). The ratio is 1 if a norm is zero, and, as
// usual, in ranges without decay: biases, scales and shifts. State starts at zero.
//
// Ranges with other rules (Range in include/steelyard/parameters.h):
//
//   mean       w' = w + scale * sum                      (pushed: differences of parameters; with the rule
//                                                        worker: values, and w' = scale * sum)
//   ema        w' = keep * w + (1 - keep) * scale * sum  (pushed: statistics of batches; PyTorch's batch norm
//                                                        calls 1 - keep its momentum)
//
// One sweep over memory, in float; lars and lamb read a slice a second time for the norms. The result does
// not depend on how a model is divided into slices: any number of shards gives the same bits on processors of
// one level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/layout.h"
#include "core/processor.h"
#include "nn/optimizer/rule_kernels.h"
#include "nn/optimizer/vector.h"

namespace steelyard::nn {

struct Optimizer {
  enum class Kind : std::uint8_t { sgd, momentum, nesterov, adam, adamw, lars, lamb, worker };

  Kind kind = Kind::momentum;
  double momentum = 0.9;  // for momentum, nesterov and lars, in [0, 1)
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999;  // for adam, adamw and lamb, in [0, 1)
  double epsilon = 1e-8;              // for adam, adamw and lamb, above 0
  double trust = 0.001;               // for lars, above 0
};

// Throws Failure (configuration) for numbers out of range.
void validate(const Optimizer& optimizer);

// Floats of state per parameter: 0, 1 or 2.
std::uint32_t state_slots(const Optimizer& optimizer);

// Whether a step is linear in the gradient (sgd, momentum, nesterov), so that parts of an update may be
// applied one by one. The length of the other rules' steps is not.
bool is_linear(const Optimizer& optimizer);
// Whether it needs norms of whole tensors: lars and lamb.
bool needs_norms(const Optimizer& optimizer);
// Whether servers make versions of the mean gradient, and workers take the steps.
inline bool steps_on_workers(const Optimizer& optimizer) { return optimizer.kind == Optimizer::Kind::worker; }

// A model's layout as this optimizer requires it. With norms, each tensor that is stepped and has decay
// becomes a separate range and norm group.
Layout layout_for(const Optimizer& optimizer, const Layout& model);

// One slice: all buffers have the same length and any alignment. `out` must not overlap the others, since
// readers may still hold the old version.
struct Update {
  std::span<float> out;               // the next version
  std::span<const float> parameters;  // the previous version
  std::span<const float> sum;         // of the pushes
  double scale = 1;
  std::uint64_t steps = 0;  // that the slice has made before this one
  // A further push that is not in `sum` yet: added during the step, which saves a sweep. Empty: none. Not for
  // lars and lamb.
  std::span<const float> last{};
};

// `state` is the slice's, slot after slot, read and written: m, then v; empty if state_slots() is 0. `rate`
// includes the range's factor; `decay` is the range's factor on the optimizer's weight decay. lars and lamb
// step with the ratio 1.
void step(const Optimizer& optimizer, const Update& update, std::span<float> state, double rate, double decay,
          Level level = cpu_level());
void mean_step(const Update& update, Level level = cpu_level());
void ema_step(const Update& update, double keep, Level level = cpu_level());

// The same, to be run elsewhere: what a step computes, for any rule but lars and lamb.
[[nodiscard]] RuleCall step_call(const Optimizer& optimizer, const Update& update, std::span<float> state,
                                 double rate, double decay);
[[nodiscard]] RuleCall mean_call(const Update& update);
[[nodiscard]] RuleCall ema_call(const Update& update, double keep);
// The part of it for elements [at, at + size) of the slice. The order of such parts does not matter.
[[nodiscard]] RuleCall part_of(const RuleCall& call, std::size_t at, std::size_t size);
// Runs it on the processor.
void run(const RuleCall& call, Level level = cpu_level());
// As step(): gives its calls, one or two, to `run`.
void step_by(const std::function<void(const RuleCall&)>& run, const Optimizer& optimizer,
             const Update& update, std::span<float> state, double rate, double decay);

// The calls of the step of lars and lamb for a tensor that spans several slices: for each slice, in order,
// measure() if the rule has one, and then the squares of its parameters and of its direction; then finish()
// for each, with the same update and state.
class TensorCalls {
 public:
  // `decay`: the range's factor on the optimizer's weight decay.
  TensorCalls(const Optimizer& optimizer, double decay);
  // lamb leaves its direction in `out`; lars computes nothing before the norms are known.
  [[nodiscard]] std::optional<RuleCall> measure(const Update& update, std::span<float> state) const;
  // What the second norm is of: with lars the sum, with lamb the direction.
  [[nodiscard]] std::span<const float> direction(const Update& update) const;
  // From the sums of squares of the tensor's parameters and directions, and the scale of its updates.
  [[nodiscard]] double ratio(double parameters, double directions, double scale) const;
  [[nodiscard]] RuleCall finish(const Update& update, std::span<float> state, double rate,
                                double ratio) const;

 private:
  const Optimizer optimizer_;
  const double decay_;
};

// The same step, computed by the processor: measure() for each slice, in order; then finish() for each.
class TensorStep {
 public:
  explicit TensorStep(const Optimizer& optimizer, double decay, Level level = cpu_level())
      : calls_(optimizer, decay), level_(level), parameters_(level), direction_(level) {}
  void measure(const Update& update, std::span<float> state);
  [[nodiscard]] double ratio() const { return calls_.ratio(parameters_.total(), direction_.total(), scale_); }
  void finish(const Update& update, std::span<float> state, double rate, double ratio) const {
    run(calls_.finish(update, state, rate, ratio), level_);
  }

 private:
  const TensorCalls calls_;
  const Level level_;
  SquareSum parameters_, direction_;
  double scale_ = 1;
};

}  // namespace steelyard::nn
