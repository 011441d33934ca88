#include "app/tools/number_metrics.h"

#include <cmath>

#include "core/check.h"

namespace steelyard {

// Mean and spread are updated by Welford's method, which loses no digits if the mean is far from zero.
void NumberMetrics::OfTarget::add(double predicted, double actual) {
  const double error = predicted - actual, away = actual - mean_;
  ++samples_;
  squares_ += error * error;
  distances_ += std::abs(error);
  mean_ += away / static_cast<double>(samples_);
  spread_ += away * (actual - mean_);
}

// Chan, Golub and LeVeque's formula for two parts (1979).
NumberMetrics::OfTarget& NumberMetrics::OfTarget::operator+=(const OfTarget& other) {
  if (other.samples_ == 0) return *this;
  const auto n = static_cast<double>(samples_), m = static_cast<double>(other.samples_);
  const double away = other.mean_ - mean_;
  samples_ += other.samples_;
  squares_ += other.squares_;
  distances_ += other.distances_;
  mean_ += away * m / (n + m);
  spread_ += other.spread_ + away * away * n * m / (n + m);
  return *this;
}

double NumberMetrics::OfTarget::rmse() const { return std::sqrt(squares_ / static_cast<double>(samples_)); }

double NumberMetrics::OfTarget::mae() const { return distances_ / static_cast<double>(samples_); }

std::optional<double> NumberMetrics::OfTarget::r2() const {
  return spread_ > 0 ? std::optional(1 - squares_ / spread_) : std::nullopt;
}

void NumberMetrics::add(std::span<const double> predicted, std::span<const double> actual) {
  CHECK(predicted.size() == each_.size() && actual.size() == each_.size(), "outputs of another model");
  for (std::size_t i = 0; i < each_.size(); ++i) each_[i].add(predicted[i], actual[i]);
}

NumberMetrics& NumberMetrics::operator+=(const NumberMetrics& other) {
  for (std::size_t i = 0; i < each_.size(); ++i) each_[i] += other.each_[i];
  return *this;
}

std::optional<double> NumberMetrics::mean_r2() const {
  double sum = 0;
  std::uint64_t known = 0;
  for (const OfTarget& it : each_) {
    if (!it.r2()) continue;
    sum += *it.r2();
    ++known;
  }
  return known == 0 ? std::nullopt : std::optional(sum / static_cast<double>(known));
}

}  // namespace steelyard
