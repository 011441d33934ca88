// What a worker's link costs it in a round beyond its compute, as a typical value and how sure that is.
//
// Over the last 15 rounds: median e, deviation of the median s = 1.86 MAD / sqrt(n) (for normal noise). A
// round waits for all links alike; what moves shares is only what one costs more than the others, and of that
// only what is surely there:
//
//   extra_i = max(0, (e_i - e_j) - 2 hypot(s_i, s_j)),    j the worker with the smallest e
#pragma once

#include <deque>

#include "balancing/state.h"

namespace steelyard::balancing {

class ExchangeCost {
 public:
  void observe(double seconds);  // not negative; others are ignored

  [[nodiscard]] bool known() const;  // after five
  [[nodiscard]] double median() const;
  [[nodiscard]] double beyond(const ExchangeCost& least) const;  // extra_i, seconds; both known

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  [[nodiscard]] double deviation() const;
  static constexpr std::size_t capacity = 15, enough = 5;
  std::deque<double> seconds_;
};

}  // namespace steelyard::balancing
