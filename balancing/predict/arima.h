// ARIMA(p, d, 0): an autoregression of the d-th differences, fitted on line.
//
//   y(k) = Delta^d v(k),     y(k) = c + phi_1 y(k-1) + ... + phi_p y(k-p) + e(k)
//
// fitted by recursive least squares with forgetting lambda:
//
//   K = P x / (lambda + x' P x),   theta <- theta + K (y - x' theta),   P <- (P - K x' P) / lambda
//
// There is no moving-average part, since its error terms cannot be measured; a longer autoregression replaces
// it. p = 3, d = 1, lambda = 0.98. Values are in units of the first one. The first 2 (p + d) predictions come
// from the moving average; every prediction lies within [0.25, 4] times the last value.
#pragma once

#include <steelyard/predictor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "balancing/predict/averages.h"
#include "balancing/state.h"

namespace steelyard::balancing {

class Arima final : public Saved<Predictor, Arima> {
 public:
  static constexpr char title[] = "arima.1";
  Arima();

  void observe(double value, double cpu, double memory) override;
  [[nodiscard]] double predict(double, double) const override;

  [[nodiscard]] Arima anew() const { return {}; }
  void serialize(auto& fields) {
    fields(seen_, unit_, at_most(p + d, last_), theta_, P_, average_);
    fields.require(unit_ > 0 && last_.size() == std::min<std::uint64_t>(seen_, p + d), "values are missing");
  }

 private:
  static constexpr std::size_t p = 3, d = 1, terms = p + 1;
  using Terms = std::array<double, terms>;

  [[nodiscard]] Terms input() const;  // 1, y(k-1), ..., y(k-p)
  void learn(double difference);

  std::uint64_t seen_ = 0;
  double unit_ = 1;           // the first value
  std::vector<double> last_;  // the last p + d values, oldest first
  Terms theta_{};
  std::array<Terms, terms> P_{};
  Ema average_;
};

}  // namespace steelyard::balancing
