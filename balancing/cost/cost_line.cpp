#include "balancing/cost/cost_line.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing {
namespace {

constexpr double first_fixed = 0.1, first_shape = 0.6, first_level = 0.3;  // relative to the first time
constexpr double jump_level = 0.7, jump_fixed = 0.15;  // relative: a change, or a new cost
constexpr double least_slope = 0.02;                   // of the time, per size of the batch

}  // namespace

CostLine::CostLine(double units, double seconds)
    : CostLine(first_fixed * seconds, (1 - first_fixed) * seconds / units, units, first_shape * seconds) {}

CostLine CostLine::of_profile(double fixed, double slope) {
  return {fixed, slope, 1, profile_doubt * (fixed + slope)};
}

CostLine::CostLine(double fixed, double slope, double units, double doubt) : fixed_(fixed), slope_(slope) {
  // Level: both states together. Shape: what one has more the other has less.
  const double shape = doubt * doubt, level = first_level * first_level;
  p00_ = shape + level * fixed_ * fixed_;
  p01_ = -shape / units + level * fixed_ * slope_;
  p11_ = shape / (units * units) + level * slope_ * slope_;
}

void CostLine::drift(double q) {
  const double all = q * q;
  p00_ += all * fixed_ * fixed_;
  p01_ += all * fixed_ * slope_;
  p11_ += all * slope_ * slope_;
}

void CostLine::loosen() {
  const double level = jump_level * jump_level;
  p00_ += level * fixed_ * fixed_ + std::pow(jump_fixed * at(1), 2);
  p01_ += level * fixed_ * slope_;
  p11_ += level * slope_ * slope_;
}

void CostLine::scale(double factor) {
  fixed_ *= factor, slope_ *= factor;
  p00_ *= factor * factor, p01_ *= factor * factor, p11_ *= factor * factor;
}

void CostLine::update(double units, double seconds, double noise) {
  const double k0 = p00_ + p01_ * units, k1 = p01_ + p11_ * units;  // P h
  const double predicted = at(units);
  // The noise of a time that is longer than predicted is relative to the longer one.
  const double measured = std::pow(noise * std::max(predicted, seconds), 2);
  const double variance = k0 + k1 * units + measured;
  const double error = seconds - predicted;
  fixed_ += k0 / variance * error;
  slope_ += k1 / variance * error;
  p00_ -= k0 * k0 / variance;
  p01_ -= k0 * k1 / variance;
  p11_ -= k1 * k1 / variance;
  // Rounding must not make a variance negative.
  p00_ = std::max(p00_, 0.0), p11_ = std::max(p11_, 0.0);
  keep_signs(units);
}

void CostLine::keep_signs(double units) {
  const double time = std::max(at(units), 1e-12);
  const double flattest = least_slope * time / units;
  if (slope_ < flattest) {
    slope_ = flattest;
    fixed_ = time - slope_ * units;
  }
  if (fixed_ < 0) {
    // The line that goes through the same time at this size, and through the origin.
    fixed_ = 0;
    slope_ = time / units;
  }
}

// To first order: the variance of h' w with h the difference of the two relative gradients.
double CostLine::doubt(double from, double to) const {
  const double a = at(from), b = at(to);
  const double h0 = 1 / b - 1 / a, h1 = to / b - from / a;
  return std::sqrt(std::max(0.0, h0 * h0 * p00_ + 2 * h0 * h1 * p01_ + h1 * h1 * p11_));
}

void CostLine::save(StateWriter& writer) const {
  writer.real(fixed_).real(slope_).real(p00_).real(p01_).real(p11_);
}

void CostLine::restore(StateReader& reader) {
  for (double* value : {&fixed_, &slope_, &p00_, &p01_, &p11_}) *value = reader.real();
  reader.require(fixed_ >= 0 && slope_ > 0 && p00_ >= 0 && p11_ >= 0, "a line falls");
}

}  // namespace steelyard::balancing
