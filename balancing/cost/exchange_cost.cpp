#include "balancing/cost/exchange_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/stats.h"

namespace steelyard::balancing {

void ExchangeCost::observe(double seconds) {
  if (!(seconds >= 0) || !std::isfinite(seconds)) return;
  seconds_.push_back(seconds);
  if (seconds_.size() > capacity) seconds_.pop_front();
}

bool ExchangeCost::known() const { return seconds_.size() >= enough; }

double ExchangeCost::median() const {
  return steelyard::median(std::vector<double>(seconds_.begin(), seconds_.end()));
}

double ExchangeCost::deviation() const {
  std::vector<double> away;
  const double middle = median();
  for (const double seconds : seconds_) away.push_back(std::abs(seconds - middle));
  // A deviation is 1.48 times the median distance, and the median's 1.25 times that of the mean.
  return 1.86 * steelyard::median(std::move(away)) / std::sqrt(static_cast<double>(seconds_.size()));
}

double ExchangeCost::beyond(const ExchangeCost& least) const {
  return std::max(0.0, median() - least.median() - 2 * std::hypot(deviation(), least.deviation()));
}

void ExchangeCost::save(StateWriter& writer) const {
  writer.count(seconds_.size());
  for (const double seconds : seconds_) writer.real(seconds);
}

void ExchangeCost::restore(StateReader& reader) {
  seconds_.clear();
  for (std::uint64_t left = reader.count(capacity); left > 0; --left) {
    seconds_.push_back(reader.real());
    reader.require(seconds_.back() >= 0, "an exchange took less than no time");
  }
}

}  // namespace steelyard::balancing
