// The actor-critic of Orchestra's barrier controller (Du, Huang, Xiang 2022, section 3.1.3), after A3C (Mnih
// et al., ICML 2016, arXiv 1602.01783, algorithm S3): a network computes the probabilities of the three
// actions and the value of the state, and learns from rewards,
//
//   h = tanh(W2 tanh(W1 x + b1) + b2),  z = Wp h + bp,  v = wv . h + bv        2 layers of 32
//   R_k  = r_k + gamma R_(k+1),  after 5 decisions, R_6 = V(s_6)
//   loss = sum_k  -log pi(a_k) (R_k - V_k)  -  beta H(pi)  +  (R_k - V_k)^2 / 2
//
// with RMSProp (decay 0.99) as in A3C. The network and its numbers are ours, as Orchestra gives none: gamma
// 0.5, rate 3e-3, beta 0.01. A training has one decision per epoch, so gamma is small: a move shows its
// effect in the next reward.
//
// Orchestra has an actor at each worker, a common critic, and one T for all. Each worker is therefore one row
// x through the same network, and the policy is joint: pi = softmax(mean_n z_n), V = mean_n v_n; the gradient
// of the joint loss is exact. The asynchronous part of A3C, many actors with their own copies, has no
// counterpart if one process decides once per epoch.
//
//   x = (log(1 + barriers) / 8, log2(steps) / 2, accuracy, waiting)
//
// Deterministic: the k-th decision under a seed draws the same number. Copyable value; 1,348 parameters.
#pragma once

#include <vector>

#include "balancing/orchestra/barrier.h"

namespace steelyard::balancing::orchestra {

class ActorCritic {
 public:
  explicit ActorCritic(std::uint64_t seed);

  // Returns -1, 0 or +1 units for the next epoch. `reward` belongs to the previous decision; at the first
  // one, to the time before it.
  int decide(const BarrierView& view, int reward);

  void serialize(StateWriter& fields);
  void serialize(StateReader& fields);  // Failure (io) for another network size

  // Probabilities of -1, 0 and +1.
  [[nodiscard]] std::vector<double> chances(const BarrierView& view) const;

 private:
  struct Step {
    std::vector<double> rows;  // of the workers, concatenated
    std::uint64_t action = 0;  // 0, 1, 2 for -1, 0, +1
    double reward = 0;
  };
  void learn(double value_after);
  template <class Fields>
  void all(Fields& fields);

  std::uint64_t seed_;
  std::uint64_t decisions_ = 0;
  std::vector<double> parameters_, squares_;  // squares: RMSProp's moving mean of squared gradients
  std::vector<Step> steps_;                   // since the last update; the last has no reward yet
};

}  // namespace steelyard::balancing::orchestra
