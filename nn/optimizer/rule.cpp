#include "nn/optimizer/rule.h"

#include <cmath>
#include <string>

#include "core/check.h"
#include "core/error.h"
#include "nn/optimizer/rule_kernels.h"

namespace steelyard::nn {
namespace {

using Kind = Optimizer::Kind;

const RuleTable& rule_table(Level level) { return at_level(level, baseline::rules, v3::rules, v4::rules); }

void check(const Update& u) {
  CHECK(u.out.size() == u.parameters.size() && u.out.size() == u.sum.size() &&
            (u.last.empty() || u.last.size() == u.sum.size()),
        "an update of slices of unequal length");
}

RuleCall call_of(RuleCall::Rule rule, const Update& u) {
  RuleCall call;
  call.rule = rule;
  call.size = u.out.size();
  call.out = u.out.data();
  call.w = u.parameters.data();
  call.sum = u.sum.data();
  call.last = u.last.empty() ? nullptr : u.last.data();
  call.scale = static_cast<float>(u.scale);
  return call;
}

void check(const Optimizer& optimizer, const Update& u, std::span<float> state) {
  check(u);
  CHECK(state.size() == u.out.size() * state_slots(optimizer), "the state is not that of this slice");
}

void demand(bool good, const char* key, double value, const char* remedy) {
  if (good) return;
  throw Failure(ExitCode::configuration,
                "optimizer: " + std::string(key) + " = " + std::to_string(value) + ": give " + remedy);
}

// Computed in double: 1 - beta2^t would lose precision in float. `decay` is 0 in ranges without decay.
MomentFactors moment_factors(const Optimizer& o, const Update& u, double rate, double decay) {
  const auto t = static_cast<double>(u.steps + 1);
  const double first = 1 / (1 - std::pow(o.beta1, t)), second = 1 / std::sqrt(1 - std::pow(o.beta2, t));
  const bool decoupled = o.kind == Kind::adamw;
  return {.scale = static_cast<float>(u.scale),
          .decay = static_cast<float>(decoupled ? 0 : decay),
          .keep = static_cast<float>(decoupled ? 1 - rate * decay : 1),
          .beta1 = static_cast<float>(o.beta1),
          .beta2 = static_cast<float>(o.beta2),
          .fresh1 = static_cast<float>(1 - o.beta1),
          .fresh2 = static_cast<float>(1 - o.beta2),
          .correct1 = static_cast<float>(first),
          .correct2 = static_cast<float>(second),
          .epsilon = static_cast<float>(o.epsilon),
          .rate = static_cast<float>(rate * first)};
}

bool is_share_below_one(double value) { return value >= 0 && value < 1; }

}  // namespace

void validate(const Optimizer& o) {
  demand(is_share_below_one(o.momentum), "momentum", o.momentum, "a number of at least 0 and below 1");
  demand(std::isfinite(o.weight_decay) && o.weight_decay >= 0, "weight_decay", o.weight_decay,
         "a number of at least 0 (0 for none)");
  demand(is_share_below_one(o.beta1), "beta1", o.beta1, "a number of at least 0 and below 1");
  demand(is_share_below_one(o.beta2), "beta2", o.beta2, "a number of at least 0 and below 1");
  demand(std::isfinite(o.epsilon) && o.epsilon > 0, "epsilon", o.epsilon, "a number above 0");
  demand(std::isfinite(o.trust) && o.trust > 0, "trust", o.trust, "a number above 0");
}

std::uint32_t state_slots(const Optimizer& optimizer) {
  switch (optimizer.kind) {
    case Kind::sgd:
    case Kind::worker:
      return 0;
    case Kind::momentum:
    case Kind::nesterov:
    case Kind::lars:
      return 1;
    case Kind::adam:
    case Kind::adamw:
    case Kind::lamb:
      break;
  }
  return 2;
}

bool is_linear(const Optimizer& optimizer) { return optimizer.kind <= Kind::nesterov; }

bool needs_norms(const Optimizer& optimizer) {
  return optimizer.kind == Kind::lars || optimizer.kind == Kind::lamb;
}

Layout layout_for(const Optimizer& optimizer, const Layout& model) {
  return needs_norms(optimizer) ? with_norm_groups(model) : model;
}

RuleCall step_call(const Optimizer& optimizer, const Update& u, std::span<float> state, double rate,
                   double decay) {
  check(optimizer, u, state);
  CHECK(!needs_norms(optimizer), "lars and lamb have steps of whole tensors");
  if (steps_on_workers(optimizer)) {
    RuleCall call = call_of(RuleCall::Rule::blend, u);
    call.w = call.sum;
    return call;
  }
  const double weight_decay = decay * optimizer.weight_decay;
  RuleCall call = call_of(RuleCall::Rule::adam, u);
  call.decay = static_cast<float>(weight_decay);
  call.rate = static_cast<float>(rate);
  call.momentum = static_cast<float>(optimizer.momentum);
  if (state_slots(optimizer) > 0) call.m = state.data();
  if (optimizer.kind == Kind::sgd) {
    call.rule = RuleCall::Rule::sgd;
  } else if (optimizer.kind == Kind::momentum) {
    call.rule = RuleCall::Rule::momentum;
  } else if (optimizer.kind == Kind::nesterov) {
    call.rule = RuleCall::Rule::nesterov;
  } else {
    call.v = call.m + call.size;
    call.factors = moment_factors(optimizer, u, rate, weight_decay);
  }
  return call;
}

RuleCall mean_call(const Update& u) {
  check(u);
  RuleCall call = call_of(RuleCall::Rule::blend, u);
  call.momentum = 1;
  return call;
}

RuleCall ema_call(const Update& u, double keep) {
  check(u);
  CHECK(keep >= 0 && keep <= 1, "a moving average keeps a share between none and all");
  RuleCall call = call_of(RuleCall::Rule::blend, u);
  call.momentum = static_cast<float>(keep);
  call.scale = static_cast<float>((1 - keep) * u.scale);
  return call;
}

RuleCall part_of(const RuleCall& call, std::size_t at, std::size_t size) {
  CHECK(at <= call.size && size <= call.size - at, "a part of a call lies inside of it");
  const auto from = [at](auto* array) { return array == nullptr ? nullptr : array + at; };
  RuleCall part = call;
  part.size = size;
  part.out = from(call.out);
  part.w = from(call.w);
  part.sum = from(call.sum);
  part.last = from(call.last);
  part.m = from(call.m);
  part.v = from(call.v);
  return part;
}

void run(const RuleCall& call, Level level) { rule_table(level).run(call); }

void step_by(const std::function<void(const RuleCall&)>& run, const Optimizer& optimizer, const Update& u,
             std::span<float> state, double rate, double decay) {
  if (!needs_norms(optimizer)) return run(step_call(optimizer, u, state, rate, decay));
  const TensorCalls whole(optimizer, decay);
  if (const auto measure = whole.measure(u, state)) run(*measure);
  run(whole.finish(u, state, rate, 1));
}

void step(const Optimizer& optimizer, const Update& u, std::span<float> state, double rate, double decay,
          Level level) {
  step_by([&](const RuleCall& call) { run(call, level); }, optimizer, u, state, rate, decay);
}

void mean_step(const Update& u, Level level) { run(mean_call(u), level); }

void ema_step(const Update& u, double keep, Level level) { run(ema_call(u, keep), level); }

TensorCalls::TensorCalls(const Optimizer& optimizer, double decay)
    : optimizer_(optimizer), decay_(decay * optimizer.weight_decay) {
  CHECK(needs_norms(optimizer), "only lars and lamb have steps of whole tensors");
}

std::optional<RuleCall> TensorCalls::measure(const Update& u, std::span<float> state) const {
  check(optimizer_, u, state);
  CHECK(u.last.empty(), "norms need the whole sum");
  if (optimizer_.kind == Kind::lars) return std::nullopt;
  RuleCall call = call_of(RuleCall::Rule::lamb, u);
  call.m = state.data();
  call.v = state.data() + call.size;
  call.factors = moment_factors(optimizer_, u, 0, decay_);
  return call;
}

std::span<const float> TensorCalls::direction(const Update& u) const {
  return optimizer_.kind == Kind::lars ? u.sum : u.out;
}

double TensorCalls::ratio(double parameters, double directions, double scale) const {
  const bool lars = optimizer_.kind == Kind::lars;
  const double w = std::sqrt(parameters), direction = (lars ? scale : 1) * std::sqrt(directions);
  if (w == 0 || direction == 0) return 1;
  return lars ? optimizer_.trust * w / (direction + decay_ * w) : w / direction;
}

RuleCall TensorCalls::finish(const Update& u, std::span<float> state, double rate, double ratio) const {
  check(optimizer_, u, state);
  RuleCall call = call_of(RuleCall::Rule::walk, u);
  call.rate = static_cast<float>(rate * ratio);
  if (optimizer_.kind == Kind::lamb) return call;
  call.rule = RuleCall::Rule::lars;
  call.m = state.data();
  call.decay = static_cast<float>(decay_);
  call.momentum = static_cast<float>(optimizer_.momentum);
  return call;
}

void TensorStep::measure(const Update& u, std::span<float> state) {
  if (const auto measure = calls_.measure(u, state)) run(*measure, level_);
  parameters_.add(u.parameters);
  direction_.add(calls_.direction(u));
  scale_ = u.scale;
}

}  // namespace steelyard::nn
