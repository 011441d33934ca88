// What a worker tells of its machine, and what that says about its time.
//
//   ln T(now) = ln T(then) + gain_cpu * load growth + gain_memory * pressure growth
//
// Each gain is learned on line (leading_signal.h). The memory is asked about what the CPU share leaves
// unexplained, because a co-tenant that takes the one takes the other as well.
#pragma once

#include "balancing/cost/leading_signal.h"
#include "balancing/state.h"

namespace steelyard::balancing {

// What a worker tells of its machine beside its times; -1: nothing.
struct Signals {
  double cpu = -1;     // share of it that is free, as measured
  double memory = -1;  // MB available
};

class MachineSignals {
 public:
  void start(const Signals& told) { last_ = told; }  // with the first measurement

  // The logarithm of the factor by which a batch takes longer now than the last one did.
  [[nodiscard]] double foretold(const Signals& now) const;

  // Whether what was told explains this growth of the logarithm of the time.
  [[nodiscard]] bool explain(double growth, const Signals& told) const;

  // A measurement: this growth of the logarithm of the time since the last one, with this deviation.
  void learn(double growth, double deviation, const Signals& told);

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  // Since the last measurement; 0 where nothing is told.
  [[nodiscard]] double load_growth(const Signals& now) const;
  [[nodiscard]] double pressure_growth(const Signals& now) const;

  Signals last_;  // that was told with a measurement
  LeadingSignal cpu_, memory_;
};

}  // namespace steelyard::balancing
