#include "balancing/predict/averages.h"

#include <algorithm>
#include <cmath>

#include "balancing/state.h"

namespace steelyard::balancing {
void Last::observe(double value, double, double) {
  if (value > 0 && std::isfinite(value)) last_ = value;
}

void Ema::observe(double value, double, double) {
  if (!(value > 0 && std::isfinite(value))) return;
  // 1/k makes the first values a plain mean; from the (1/alpha)-th on, alpha is larger.
  ++seen_;
  average_ += std::max(alpha_, 1 / static_cast<double>(seen_)) * (value - average_);
}

}  // namespace steelyard::balancing
