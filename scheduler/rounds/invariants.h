// Invariants: what must hold of a scheduler after every step, and from step to step. Run in
// tests and simulations.
//
//  tiling      the pieces of each open round, and what is not taken yet, tile its positions, without gap
//              or overlap
//  grains      pieces, and what is not taken yet, begin and end between grains
//  ownership   while the job is running, every piece that is not reported has an owner that is not given up;
//              it may have none only when no worker is there
//  order       rounds, epochs, positions and phases never go back
//  pipeline    rounds are in their order, an evaluation is alone and last
//  slack       no round has begun that is more than the mode's slack ahead of the oldest that is not done
#pragma once

#include <string>

#include "scheduler/scheduler.h"

namespace steelyard {

class Invariants {
 public:
  // The first thing that does not hold, in words; empty if all is well.
  std::string check(const Scheduler& scheduler);

 private:
  std::string check_round(const Scheduler& scheduler, const RoundState& round);

  Round last_round_ = 0;
  double last_epochs_ = 0;
  Scheduler::Phase last_phase_ = Scheduler::Phase::gathering;
};

}  // namespace steelyard
