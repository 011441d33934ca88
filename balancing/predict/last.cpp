#include "balancing/predict/last.h"

#include <cmath>

#include "balancing/state.h"

namespace steelyard::balancing {
namespace {

constexpr char last_title[] = "last.1";

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

}  // namespace steelyard::balancing
