// The level of a worker's time: a random walk of the logarithm, seen through noise.
//
//   predict   P <- P + (speed * noise)^2
//   update    K = P / (P + noise^2),  l <- l + K (ln t - l),  P <- (1 - K) P
//
// Two such averages run side by side, a slow and a quick one. The one with the smaller mean square of its
// one-step errors is believed. The noise is estimated from the errors that the level's own doubt does not
// explain.
#pragma once

#include <array>
#include <cstdint>

#include "balancing/cost/rules.h"
#include "balancing/state.h"

namespace steelyard::balancing {

class Level {
 public:
  static constexpr double first_doubt = 0.3;  // relative: first rounds are often slow

  // Of the first batch.
  Level(double seconds, const Rules& rules, double doubt = first_doubt);

  void follow(double seconds, double rounds);   // a measurement; `rounds` were measured so far
  void jump(double seconds);                    // a measurement after a sudden change
  void shift(double log_factor, double doubt);  // the next batch takes longer; relative doubt about that

  [[nodiscard]] double seconds() const;                  // predicted
  [[nodiscard]] double doubt() const;                    // relative deviation of that
  [[nodiscard]] double noise() const { return noise_; }  // relative deviation of a measurement
  [[nodiscard]] double deviation(double rounds) const;   // relative, of the next measurement
  [[nodiscard]] double drift() const;                    // relative, per round, of the believed average

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  struct Average {
    double log_seconds = 0, variance = 0;
    double error = 0;  // recent mean square of its one-step errors
    void update(double measured, double noise);
  };

  std::array<Average, 2> averages_;  // slow, quick
  std::size_t believed_ = 0;
  double noise_;
  Rules rules_;
};

}  // namespace steelyard::balancing
