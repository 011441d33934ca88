#include "server/shard/delay_compensation.h"

#include <cmath>

namespace steelyard {
namespace {

using Compensation = SyncMode::Compensation;

constexpr float keep = 0.95F, epsilon = 1e-7F;  // rho and epsilon of the adaptive variant

}  // namespace

void DelayCompensation::answered(NodeId worker, const SliceMemory& slice) {
  if (kind_ == Compensation::none) return;
  Pulled& pulled = pulled_[worker][slice.place().begin];
  pulled.values = slice.current();
  pulled.steps = slice.steps();
}

// What it was computed from, if that is known.
DelayCompensation::Pulled* DelayCompensation::find(NodeId worker, const Push& push,
                                                   const SliceMemory& slice) {
  const auto its = pulled_.find(worker);
  if (its == pulled_.end()) return nullptr;
  const auto pulled = its->second.find(slice.place().begin);
  return pulled != its->second.end() && pulled->second.steps == push.steps ? &pulled->second : nullptr;
}

Blob DelayCompensation::compensated(NodeId worker, const Push& push, SliceMemory& slice) {
  if (kind_ == Compensation::none) return push.values;
  Pulled* pulled = find(worker, push, slice);
  if (pulled == nullptr) {
    ++missed_;
    return push.values;
  }
  const Blob current = slice.current();
  const std::span<const float> sum = push.values.floats(), now = current.floats(),
                               then = pulled->values.floats();
  const auto scale = static_cast<float>(1 / push.weight), lambda = static_cast<float>(lambda_);
  if (kind_ == Compensation::adaptive) pulled->squares.resize(sum.size());
  // Written so that nothing changes, not by a bit, where lambda or what has moved is zero.
  return slice.changed([&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float g = scale * sum[i];
      float strength = lambda;
      if (kind_ == Compensation::adaptive) {
        float& s = pulled->squares[i];
        s = keep * s + (1 - keep) * g * g;
        strength /= std::sqrt(s + epsilon);
      }
      out[i] = sum[i] * (1 + strength * g * (now[i] - then[i]));
    }
  });
}

}  // namespace steelyard
