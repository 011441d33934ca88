#include "balancing/cost/exchange_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/text.h"

namespace steelyard::balancing {
namespace {

constexpr double wait_memory = 0.998;  // per round
constexpr double enough_rounds = 40;   // rounds
constexpr double after_a_rest = 0.5;   // factor on the weight of earlier rounds

constexpr double far_away = 8;  // in median distances
constexpr double unlike = 0.3;  // relative: smaller differences are no change, and such values agree

}  // namespace

void WaitedFor::observe(double seconds, double worth) {
  weight_ = wait_memory * weight_ + 1;
  sum_ = wait_memory * sum_ + seconds;
  squares_ = wait_memory * squares_ + seconds * seconds;
  worth_ = wait_memory * worth_ + worth;
}

double WaitedFor::surely() const {
  if (weight_ < enough_rounds) return 0;
  const double mean = sum_ / weight_, variance = std::max(0.0, squares_ / weight_ - mean * mean);
  return std::max(0.0, mean - std::sqrt(variance / weight_));
}

void WaitedFor::doubt() {
  for (double* sum : {&weight_, &sum_, &squares_, &worth_}) *sum *= after_a_rest;
}

void ExchangeCost::observe(double seconds, bool after_rest) {
  if (!(seconds >= 0) || !std::isfinite(seconds)) return;
  if (follow_changes_ && (seconds_.size() >= enough || changed_)) {
    const double last = seconds_.back(), middle = typical_.median;
    const bool again = far(last) && (last - middle) * (seconds - middle) > 0 &&
                       std::abs(last - seconds) <= unlike * std::max(last, seconds);
    if (far(seconds) && (again || after_rest)) {
      seconds_.clear();
      if (again) seconds_.push_back(last);
      changed_ = true;
    }
  }
  seconds_.push_back(seconds);
  if (seconds_.size() > capacity) seconds_.pop_front();
  if (seconds_.size() >= enough) changed_ = false;
  typical_ = typical();
}

double ExchangeCost::surely() const {
  if (seconds_.size() < enough && !changed_) return 0;
  // A standard deviation is 1.48 median distances, and the median's error is 1.25 times the mean's.
  const double deviation = 1.86 * typical_.spread / std::sqrt(static_cast<double>(seconds_.size()));
  return std::max(0.0, typical_.median - 2 * deviation);
}

ExchangeCost::Typical ExchangeCost::typical() const {
  const double middle = median(std::vector<double>(seconds_.begin(), seconds_.end()));
  std::vector<double> away;
  for (const double seconds : seconds_) away.push_back(std::abs(seconds - middle));
  return {middle, median(std::move(away))};
}

bool ExchangeCost::far(double seconds) const {
  return std::abs(seconds - typical_.median) > std::max(far_away * typical_.spread, unlike * typical_.median);
}

}  // namespace steelyard::balancing
