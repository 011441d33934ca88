// How long the rounds waited for a worker alone: what they would have gained without it, had the others not
// had to do its share.
//
//   L(k) = t_i(k) - max_{j != i} t_j(k) where i was the last of all, else 0
//
// A curve is a worker's typical time. A worker that is often interrupted is late more often than its curve
// says; L shows that. Kept: mean and error of the mean of L, with forgetting, and the mean of what the worker
// was worth in the same rounds.
#pragma once

#include "balancing/state.h"

namespace steelyard::balancing {

class WaitedFor {
 public:
  // L of one round, and what that round would have taken longer had it not been there.
  void observe(double seconds, double worth);

  // The mean that is exceeded most likely: it less its own deviation. 0 until enough rounds were seen.
  [[nodiscard]] double surely() const;

  [[nodiscard]] double worth() const;  // a round, on average

  void doubt();  // it is to be seen again whether that is still so

  void save(StateWriter& writer) const { writer.real(weight_).real(sum_).real(squares_).real(worth_); }
  void restore(StateReader& reader);

 private:
  double weight_ = 0, sum_ = 0, squares_ = 0, worth_ = 0;  // sums over rounds: 1, L, its square, worth
};

}  // namespace steelyard::balancing
