// The memoryless predictor: the next value is the last one.
//
// The baseline of the others: quickest after a change, and the one that takes every outlier for a change. On
// a constant with white noise of variance s^2 the variance of its error is 2 s^2.
#pragma once

#include "balancing/predict/predictor.h"

namespace steelyard::balancing {

class Last final : public Predictor {
 public:
  void observe(double value, double cpu, double memory) override;
  [[nodiscard]] double predict(double, double) const override { return last_; }
  [[nodiscard]] std::unique_ptr<Predictor> clone() const override { return std::make_unique<Last>(*this); }
  [[nodiscard]] std::string save() const override;
  void restore(const std::string& text) override;

 private:
  double last_ = 0;
};

}  // namespace steelyard::balancing
