// A line fitted on line: recursive least squares with forgetting, written as its sums.
//
//   minimise  sum_k lambda^(K-k) (t_k - alpha b_k - beta)^2,   alpha > 0, beta >= 0
//
// The recursion of the textbooks and the normal equations over sums that are multiplied by lambda give the
// same line; the sums have no start-up matrix to choose and need no care when all batches had one size: then,
// and where the unconstrained line violates a sign, it is the line through the origin.
//
// The performance model of BOA (Yang, Kang, Youn: J. Supercomputing 2020); lambda and the signs are ours, its
// abstract names none.
#pragma once

#include "balancing/cost/affine.h"
#include "balancing/state.h"

namespace steelyard::balancing {

class ForgettingLine {
 public:
  explicit ForgettingLine(double lambda = 0.95) : lambda_(lambda) {}

  void add(TimedBatch batch);  // both positive and finite
  [[nodiscard]] bool empty() const { return weight_ == 0; }
  [[nodiscard]] Affine curve() const;  // {0, 0} while empty

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  double lambda_;
  double weight_ = 0, b_ = 0, t_ = 0, bb_ = 0, bt_ = 0;  // weighted sums
};

}  // namespace steelyard::balancing
