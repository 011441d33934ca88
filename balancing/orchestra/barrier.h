// Orchestra's barrier controller (Du, Huang, Xiang 2022, doi 10.1145/3528416.3530246, section 3.1.3): how
// long workers step by themselves, chosen once an epoch by what the epoch brought. The least idle time alone
// may mean a barrier after every step, and then exchange bounds the speed.
//
//   action   T += {+1, 0, -1} unit                             at the start of an epoch
//   reward   p = (gain in accuracy / seconds) sqrt(steps)      steps: of the training so far; the root
//            ratio = p / p*,  p* the best so far               offsets that accuracy flattens
//            -1, 0, +1 for ratio <, =, > 1
//
// Not published, ours: a unit is that of the search, 1 % of the longest mini-batch; T stays within [1, 16]
// longest mini-batches; a ratio within 1e-3 of 1 is 1; accuracy that falls is no gain; the first epoch with a
// gain sets p* and is rewarded 0.
//
// Who chooses the action is a BarrierController: HillClimb (hill_climb.h), or the paper's actor-critic
// (actor_critic.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "balancing/state.h"

namespace steelyard::balancing::orchestra {

// The cluster at the end of an epoch.
struct BarrierView {
  struct Worker {
    double steps = 1;    // T / t_n: the mini-batches that it may do in a period, with their fraction
    double waiting = 0;  // part of the period in which it waits, in [0, 1]
  };
  std::vector<Worker> workers;  // at least one
  std::uint64_t barriers = 0;   // since the beginning
  double accuracy = 0;          // in [0, 1]
};

class BarrierController {
 public:
  virtual ~BarrierController() = default;

  // -1, 0 or +1 units for the next epoch. `reward` is that of the decision before, and of what was before the
  // first decision.
  virtual int decide(const BarrierView& view, int reward) = 0;

  virtual void serialize(StateWriter& fields) = 0;
  virtual void serialize(StateReader& fields) = 0;
};

class BarrierReward {
 public:
  // Of one epoch: gain in accuracy, seconds (positive), steps of the training so far.
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

  // What is out of the band is taken to its edge.
  explicit BarrierPeriod(double longest_batches = 1, double unit = 0.01);

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
