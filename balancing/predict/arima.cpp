#include "balancing/predict/arima.h"

#include <algorithm>
#include <cmath>

#include "balancing/state.h"

namespace steelyard::balancing {
namespace {

constexpr double lambda = 0.98;
constexpr double first_variance = 10;  // of the coefficients, initially
constexpr double most_variance = 1e4;  // keeps them from growing without limit under a constant input

}  // namespace

Arima::Arima() {
  for (std::size_t i = 0; i < terms; ++i) P_[i][i] = first_variance;
}

void Arima::observe(double value, double cpu, double memory) {
  if (!(value > 0 && std::isfinite(value))) return;
  average_.observe(value, cpu, memory);
  if (seen_ == 0) unit_ = value;
  ++seen_;
  if (last_.size() == p + d) {
    learn((value - last_.back()) / unit_);
    last_.erase(last_.begin());
  }
  last_.push_back(value);
}

Arima::Terms Arima::input() const {
  Terms x{1};
  for (std::size_t lag = 1; lag <= p; ++lag) {
    x[lag] = (last_[last_.size() - lag] - last_[last_.size() - lag - 1]) / unit_;
  }
  return x;
}

void Arima::learn(double difference) {
  const Terms x = input();
  Terms px{};
  double spread = lambda, error = difference;
  for (std::size_t i = 0; i < terms; ++i) {
    for (std::size_t j = 0; j < terms; ++j) px[i] += P_[i][j] * x[j];
    spread += x[i] * px[i];
    error -= theta_[i] * x[i];
  }
  double trace = 0;
  for (std::size_t i = 0; i < terms; ++i) {
    theta_[i] += px[i] / spread * error;
    for (std::size_t j = 0; j < terms; ++j) P_[i][j] -= px[i] * px[j] / spread;
    trace += P_[i][i];
  }
  if (trace > most_variance) return;  // directions that are not excited are not forgotten
  for (Terms& row : P_) {
    for (double& entry : row) entry /= lambda;
  }
}

double Arima::predict(double cpu_now, double memory_now) const {
  if (seen_ == 0) return 0;
  const double last = last_.back();
  double answer = average_.predict(cpu_now, memory_now);
  if (seen_ >= 2 * (p + d)) {
    const Terms x = input();
    answer = last;
    for (std::size_t i = 0; i < terms; ++i) answer += theta_[i] * x[i] * unit_;
  }
  return std::isfinite(answer) ? std::clamp(answer, lowest_step * last, highest_step * last) : last;
}

}  // namespace steelyard::balancing
