// How much a worker's CPU share, or the memory that others leave it, says about its time, learned on line:
//
//   ln(t_after / t_before) = -gain * ln(c_after / c_before)
//
// with c the share or the megabytes. Gain 1: half of it, double the time. Gain 0: the number says nothing, as
// on a GPU. Regression through the origin with a prior of 0 and slow forgetting: a signal that only jitters
// gets a gain near 0, and its jitter moves little.
#pragma once

#include "balancing/state.h"

namespace steelyard::balancing {

class LeadingSignal {
 public:
  // -ln of the share: what time grows with. Shares of less than a twentieth count as that.
  static double load(double cpu);

  // -ln of the megabytes: only differences mean anything.
  static double pressure(double memory);

  // `growth` of the logarithm of the time beside that of the load; `variance` is the noise of the former.
  void observe(double growth, double load_growth, double variance);

  [[nodiscard]] double gain() const;  // not negative

  // Whether this growth of the load explains that growth of the time: it would with a gain of about 1.
  [[nodiscard]] static bool explains(double growth, double load_growth);

  void save(StateWriter& writer) const { writer.real(product_).real(square_); }
  void restore(StateReader& reader) { product_ = reader.real(), square_ = reader.real(); }

 private:
  double product_ = 0, square_ = 0;  // sums over rounds, in units of their variance
};

}  // namespace steelyard::balancing
