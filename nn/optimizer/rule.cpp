#include "nn/optimizer/rule.h"

#include <algorithm>
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

// Calls step(begin, size, sum) for the whole slice, or for blocks that stay in the first-level cache between
// the sum and the step.
template <class Step>
void in_blocks(const Update& u, Level level, Step step) {
  constexpr std::size_t block = 2048;
  if (u.last.empty()) return step(0, u.sum.size(), u.sum.data());
  alignas(64) float both[block];
  for (std::size_t at = 0; at < u.sum.size(); at += block) {
    const std::size_t size = std::min(block, u.sum.size() - at);
    sum({both, size}, u.sum.subspan(at, size), u.last.subspan(at, size), level);
    step(at, size, both);
  }
}

void blend(const Update& u, Level level, float keep, float fresh) {
  check(u);
  in_blocks(u, level, [&](std::size_t at, std::size_t size, const float* sum) {
    rule_table(level).blend(size, u.out.data() + at, u.parameters.data() + at, sum, keep, fresh);
  });
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

bool is_share_below_one(double value) { return value >= 0 && value < 1; }

}  // namespace

// Computed in double: 1 - beta2^t would lose precision in float.
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

void step(const Optimizer& optimizer, const Update& u, std::span<float> state, double rate, double decay,
          Level level) {
  if (needs_norms(optimizer)) {
    TensorStep whole(optimizer, decay, level);
    whole.measure(u, state);
    return whole.finish(u, state, rate, 1);
  }
  check(optimizer, u, state);
  if (steps_on_workers(optimizer)) {
    return in_blocks(u, level, [&](std::size_t at, std::size_t size, const float* sum) {
      rule_table(level).blend(size, u.out.data() + at, sum, sum, 0, static_cast<float>(u.scale));
    });
  }
  const RuleTable& rules = rule_table(level);
  const auto scale = static_cast<float>(u.scale), speed = static_cast<float>(rate);
  const double weight_decay = decay * optimizer.weight_decay;
  const auto pull = static_cast<float>(weight_decay), mu = static_cast<float>(optimizer.momentum);
  const bool moments = optimizer.kind == Kind::adam || optimizer.kind == Kind::adamw;
  const MomentFactors factors = moments ? moment_factors(optimizer, u, rate, weight_decay) : MomentFactors{};
  in_blocks(u, level, [&](std::size_t at, std::size_t size, const float* sum) {
    float *out = u.out.data() + at, *m = state.data() + at;
    const float* w = u.parameters.data() + at;
    if (optimizer.kind == Kind::sgd) {
      rules.sgd(size, out, w, sum, scale, pull, speed);
    } else if (optimizer.kind == Kind::momentum) {
      rules.momentum(size, out, w, sum, m, scale, pull, speed, mu);
    } else if (optimizer.kind == Kind::nesterov) {
      rules.nesterov(size, out, w, sum, m, scale, pull, speed, mu);
    } else {
      rules.adam(size, out, w, sum, m, m + u.out.size(), factors);
    }
  });
}

void mean_step(const Update& u, Level level) { blend(u, level, 1.0F, static_cast<float>(u.scale)); }

void ema_step(const Update& u, double keep, Level level) {
  CHECK(keep >= 0 && keep <= 1, "a moving average keeps a share between none and all");
  blend(u, level, static_cast<float>(keep), static_cast<float>((1 - keep) * u.scale));
}

TensorStep::TensorStep(const Optimizer& optimizer, double decay, Level level)
    : optimizer_(optimizer),
      decay_(decay * optimizer.weight_decay),
      level_(level),
      parameters_(level),
      direction_(level) {
  CHECK(needs_norms(optimizer), "only lars and lamb have steps of whole tensors");
}

// lamb leaves its direction in `out`, where finish() reads it.
void TensorStep::measure(const Update& u, std::span<float> state) {
  check(optimizer_, u, state);
  CHECK(u.last.empty(), "norms need the whole sum");
  parameters_.add(u.parameters);
  if (optimizer_.kind == Kind::lars) {
    direction_.add(u.sum);
    scale_ = u.scale;
    return;
  }
  const std::size_t size = u.out.size();
  rule_table(level_).lamb(size, u.out.data(), u.parameters.data(), u.sum.data(), state.data(),
                          state.data() + size, moment_factors(optimizer_, u, 0, decay_));
  direction_.add(u.out);
}

double TensorStep::ratio() const {
  const double w = std::sqrt(parameters_.total());
  const double direction = scale_ * std::sqrt(direction_.total());
  if (w == 0 || direction == 0) return 1;
  return optimizer_.kind == Kind::lars ? optimizer_.trust * w / (direction + decay_ * w) : w / direction;
}

void TensorStep::finish(const Update& u, std::span<float> state, double rate, double ratio) const {
  check(optimizer_, u, state);
  const std::size_t size = u.out.size();
  const auto speed = static_cast<float>(rate * ratio);
  if (optimizer_.kind == Kind::lamb)
    return rule_table(level_).walk(size, u.out.data(), u.parameters.data(), speed);
  rule_table(level_).lars(size, u.out.data(), u.parameters.data(), u.sum.data(), state.data(),
                          static_cast<float>(u.scale), static_cast<float>(decay_), speed,
                          static_cast<float>(optimizer_.momentum));
}

}  // namespace steelyard::nn
