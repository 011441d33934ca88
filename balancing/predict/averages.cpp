#include "balancing/predict/averages.h"

#include <algorithm>
#include <cmath>

#include "balancing/state.h"

namespace steelyard::balancing {
namespace {

constexpr char last_title[] = "last.1";

constexpr char ema_title[] = "ema.1";

}  // namespace

void Last::observe(double value, double, double) {
  if (value > 0 && std::isfinite(value)) last_ = value;
}

std::string Last::save() const { return StateWriter(last_title).real(last_).str(); }

void Last::restore(const std::string& text) {
  StateReader reader(text, last_title);
  const double last = reader.real();
  reader.end();
  last_ = last;
}

void Ema::observe(double value, double, double) {
  if (!(value > 0 && std::isfinite(value))) return;
  // 1/k makes the first values a plain mean; from the (1/alpha)-th on, alpha is larger.
  ++seen_;
  average_ += std::max(alpha_, 1 / static_cast<double>(seen_)) * (value - average_);
}

std::string Ema::save() const { return StateWriter(ema_title).count(seen_).real(average_).str(); }

void Ema::restore(const std::string& text) {
  StateReader reader(text, ema_title);
  const std::uint64_t seen = reader.count();
  const double average = reader.real();
  reader.end();
  seen_ = seen, average_ = average;
}

}  // namespace steelyard::balancing
