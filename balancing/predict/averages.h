// The two predictors without a model: the last value, and the exponential moving average.
#pragma once

#include <steelyard/predictor.h>

#include <cstdint>

#include "balancing/state.h"

namespace steelyard::balancing {

// Last: predicts the last value.
//
// The baseline of the others: the fastest after a change, but it follows every outlier. For a constant with
// white noise of variance s^2 its error has variance 2 s^2.
class Last final : public Saved<Predictor, Last> {
 public:
  static constexpr char title[] = "last.1";
  void observe(double value, double cpu, double memory) override;
  [[nodiscard]] double predict(double, double) const override { return last_; }
  [[nodiscard]] Last anew() const { return {}; }
  void serialize(auto& fields) { fields(last_); }

 private:
  double last_ = 0;
};

// Ema: the exponential moving average: m <- m + max(alpha, 1/k) (value - m) at the k-th value.
//
// The first values thus have equal weights, so a slow first round is soon forgotten. alpha = 0.2 remembers
// about ten rounds; for a constant with white noise of variance s^2 its error has variance s^2 (1 + alpha /
// (2 - alpha)) = 1.11 s^2.
class Ema final : public Saved<Predictor, Ema> {
 public:
  static constexpr char title[] = "ema.1";
  explicit Ema(double alpha = 0.2) : alpha_(alpha) {}

  void observe(double value, double cpu, double memory) override;
  [[nodiscard]] double predict(double, double) const override { return average_; }
  [[nodiscard]] Ema anew() const { return Ema(alpha_); }
  void serialize(auto& fields) { fields(seen_, average_); }

 private:
  double alpha_;
  std::uint64_t seen_ = 0;  // values
  double average_ = 0;
};

}  // namespace steelyard::balancing
