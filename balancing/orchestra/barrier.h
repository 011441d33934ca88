// Orchestra's barrier controller (Du, Huang, Xiang 2022, doi 10.1145/3528416.3530246, section 3.1.3):
// chooses, once per epoch, how long workers step on their own, from the results of the epoch. Minimal idle
// time alone may mean a barrier after every step, and then the exchange bounds the speed.
//
//   action   T += {+1, 0, -1} unit                             at the start of an epoch
//   reward   p = (gain in accuracy / seconds) sqrt(steps)      steps: of the training so far; the root
//            ratio = p / p*,  p* the best so far               offsets that accuracy flattens
//            -1, 0, +1 for ratio <, =, > 1
//
// Ours, not published: a unit is the longest mini-batch; T stays within [1, 16] longest mini-batches; p*
// loses a tenth at each epoch with a gain, because gains soon stay below the best one, and a constant reward
// of -1 carries no information; a ratio within 1e-3 of 1 counts as 1; falling accuracy counts as no gain; the
// first epoch with a gain sets p* and gets reward 0.
//
// The actor-critic (actor_critic.h) chooses the action.
#pragma once

#include <cstdint>
#include <vector>

#include "balancing/state.h"

namespace steelyard::balancing::orchestra {

// The cluster at the end of an epoch.
struct BarrierView {
  struct Worker {
    double steps = 1;    // T / t_n: the mini-batches, with fraction, that fit into a period
    double waiting = 0;  // part of the period spent waiting, in [0, 1]
  };
  std::vector<Worker> workers;  // at least one
  std::uint64_t barriers = 0;   // since the beginning
  double accuracy = 0;          // in [0, 1]
};

class BarrierReward {
 public:
  // For one epoch: gain in accuracy, seconds (positive), steps of the training so far.
  int operator()(double gain, double seconds, double steps);

  void serialize(auto& fields) {
    fields(best_);
    fields.require(best_ >= 0, "the best gain is negative");
  }

 private:
  double best_ = 0;  // p*
};

// T, in longest mini-batches.
class BarrierPeriod {
 public:
  static constexpr double shortest = 1, longest = 16;

  // Values outside the band are clamped to its edge.
  explicit BarrierPeriod(double longest_batches = 1, double unit = 1);

  void move(int units);
  [[nodiscard]] double longest_batches() const { return now_; }
  void serialize(auto& fields) {
    fields(now_);
    move(0);
  }

 private:
  double unit_, now_;
};

}  // namespace steelyard::balancing::orchestra
