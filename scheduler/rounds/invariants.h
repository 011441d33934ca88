// Invariants: conditions that must hold for a scheduler after every step, and from step to step. Checked in
// tests and simulations.
//
//  tiling      the pieces and untaken positions of each open round tile its positions, without gap or overlap
//  grains      pieces and untaken positions begin and end between grains
//  ownership   while the job is running, every unreported piece has an owner that is not lost, or none if no
//              worker is available
//  order       rounds, epochs, positions and phases never go back
//  pipeline    rounds are in order; an evaluation is alone and last
//  slack       no round begins more than the mode's slack ahead of the oldest round that is not done
#pragma once

#include <string>

#include "scheduler/scheduler.h"

namespace steelyard {

class Invariants {
 public:
  // Returns a description of the first violation, or an empty string.
  std::string check(const Scheduler& scheduler);

 private:
  std::string check_round(const Scheduler& scheduler, const RoundState& round);

  Round last_round_ = 0;
  double last_epochs_ = 0;
  Scheduler::Phase last_phase_ = Scheduler::Phase::gathering;
};

}  // namespace steelyard
