#include "balancing/cost/waited_for.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing {
namespace {

constexpr double wait_memory = 0.998;  // per round
constexpr double enough_rounds = 40;   // rounds
constexpr double after_a_rest = 0.5;   // of what was known before it

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

double WaitedFor::worth() const { return weight_ > 0 ? worth_ / weight_ : 0; }

void WaitedFor::doubt() {
  for (double* sum : {&weight_, &sum_, &squares_, &worth_}) *sum *= after_a_rest;
}

void WaitedFor::restore(StateReader& reader) {
  weight_ = reader.real(), sum_ = reader.real(), squares_ = reader.real(), worth_ = reader.real();
  reader.require(weight_ >= 0 && sum_ >= 0 && squares_ >= 0 && worth_ >= 0,
                 "a round waited less than no time");
}

}  // namespace steelyard::balancing
