#include "nn/optimizer/rule.h"

#include <cmath>
#include <string>

#include "core/check.h"
#include "core/error.h"
#include "nn/optimizer/kernels.h"

namespace steelyard::nn {
namespace {

const RuleTable& table(Level level) {
  switch (level) {
    case Level::v4:
      return v4::rules;
    case Level::v3:
      return v3::rules;
    case Level::baseline:
      break;
  }
  return baseline::rules;
}

void check(const Update& u) {
  CHECK(u.out.size() == u.parameters.size() && u.out.size() == u.sum.size(),
        "an update of slices of unequal length");
}

}  // namespace

void validate(const Optimizer& o) {
  if (!(o.momentum >= 0 && o.momentum < 1)) {
    throw Failure(ExitCode::configuration, "optimizer: momentum = " + std::to_string(o.momentum) +
                                               ": give a number of at least 0 and below 1");
  }
  if (!std::isfinite(o.weight_decay) || o.weight_decay < 0) {
    throw Failure(ExitCode::configuration, "optimizer: weight_decay = " + std::to_string(o.weight_decay) +
                                               ": give a number of at least 0 (0 for none)");
  }
}

std::uint32_t state_slots(const Optimizer& optimizer) {
  return optimizer.kind == Optimizer::Kind::sgd ? 0 : 1;
}

void step(const Optimizer& optimizer, const Update& u, std::span<float> state, double rate, bool decay,
          Level level) {
  check(u);
  CHECK(state.size() == u.out.size() * state_slots(optimizer), "the state is not that of this slice");
  const RuleTable& rules = table(level);
  const auto scale = static_cast<float>(u.scale), speed = static_cast<float>(rate);
  const auto pull = static_cast<float>(decay ? optimizer.weight_decay : 0.0);
  const auto mu = static_cast<float>(optimizer.momentum);
  float* out = u.out.data();
  const float *w = u.parameters.data(), *sum = u.sum.data();
  switch (optimizer.kind) {
    case Optimizer::Kind::sgd:
      return rules.sgd(u.out.size(), out, w, sum, scale, pull, speed);
    case Optimizer::Kind::momentum:
      return rules.momentum(u.out.size(), out, w, sum, state.data(), scale, pull, speed, mu);
    case Optimizer::Kind::nesterov:
      return rules.nesterov(u.out.size(), out, w, sum, state.data(), scale, pull, speed, mu);
  }
}

void mean_step(const Update& u, Level level) {
  check(u);
  table(level).blend(u.out.size(), u.out.data(), u.parameters.data(), u.sum.data(), 1.0F,
                     static_cast<float>(u.scale));
}

void ema_step(const Update& u, double keep, Level level) {
  check(u);
  CHECK(keep >= 0 && keep <= 1, "a moving average keeps a share between none and all");
  table(level).blend(u.out.size(), u.out.data(), u.parameters.data(), u.sum.data(), static_cast<float>(keep),
                     static_cast<float>((1 - keep) * u.scale));
}

}  // namespace steelyard::nn
