#include "balancing/orchestra/barrier.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing::orchestra {
namespace {

constexpr double as_good = 1e-3;  // distance of a ratio from 1 that counts as equal
constexpr double kept = 0.9;      // of p*, at each epoch with a gain

}  // namespace

int BarrierReward::operator()(double gain, double seconds, double steps) {
  const double p = std::max(0.0, gain) / seconds * std::sqrt(steps);
  if (p == 0) return -1;
  if (best_ == 0) {
    best_ = p;
    return 0;
  }
  best_ *= kept;
  const double ratio = p / best_;
  best_ = std::max(best_, p);
  if (std::abs(ratio - 1) < as_good) return 0;
  return ratio > 1 ? 1 : -1;
}

BarrierPeriod::BarrierPeriod(double longest_batches, double unit)
    : unit_(unit), now_(std::clamp(longest_batches, shortest, longest)) {}

void BarrierPeriod::move(int units) { now_ = std::clamp(now_ + units * unit_, shortest, longest); }

}  // namespace steelyard::balancing::orchestra
