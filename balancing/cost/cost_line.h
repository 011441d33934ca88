// A line t = fixed + slope * b with what is not known about it: a Kalman filter of two states.
//
//   predict   P <- P + q^2 w w'                                w = (fixed, slope): the whole machine drifts
//   update    K = P h / (h' P h + (noise t)^2),  w <- w + K (t - h' w),  P <- P - K h' P        h = (1, b)
//
// Drift is common to both states because a co-tenant or a hot chip slows all of a machine; so what was
// learned about the shape from two sizes of batches survives a change of speed. Under fixed >= 0 and
// slope > 0. Batches are in units of the first one, so that both states are of the order of its time.
#pragma once

#include <array>

#include "balancing/cost/affine.h"
#include "balancing/state.h"

namespace steelyard::balancing {

class CostLine {
 public:
  // Through a first batch: a tenth of its time is taken for fixed, give or take six tenths.
  CostLine(double units, double seconds);
  // What a profile says is right, give or take a tenth.
  static constexpr double profile_doubt = 0.1;
  // The line of a profile; `slope` per unit, through a batch of one.
  static CostLine of_profile(double fixed, double slope);

  void drift(double q);                                     // one round went by
  void update(double units, double seconds, double noise);  // noise: relative deviation of a measurement
  void loosen();                                            // anything may have happened to its speed
  void scale(double factor);                                // it is known to take so many times as long now

  [[nodiscard]] double at(double units) const { return fixed_ + slope_ * units; }
  // Relative deviation of at(to) / at(from): what is not known about the shape between two sizes.
  [[nodiscard]] double doubt(double from, double to) const;
  [[nodiscard]] double fixed() const { return fixed_; }
  [[nodiscard]] double slope() const { return slope_; }

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  CostLine(double fixed, double slope, double units, double doubt);  // seconds of doubt about `fixed`
  void keep_signs(double units);

  double fixed_, slope_;    // seconds, seconds per unit
  double p00_, p01_, p11_;  // covariance of the two
};

}  // namespace steelyard::balancing
