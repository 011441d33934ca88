// Time as an affine function of the batch: seconds = fixed + per_sample * samples.
//
// The linear on-line model of LBB (Yao et al., J. Supercomputing 2024, eq. 1 with a2 = a3 = 0); with
// fixed = 0 it is the speed model of LB-BSP on CPUs (Chen et al., SoCC 2020): t = x / v.
#pragma once

#include <span>

namespace steelyard::balancing {

struct Affine {
  double fixed = 0;       // seconds, not negative
  double per_sample = 0;  // seconds, positive: more samples never take less time

  [[nodiscard]] double operator()(double samples) const { return fixed + per_sample * samples; }
  friend bool operator==(const Affine&, const Affine&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(fixed, per_sample);
  }
};

struct TimedBatch {
  double samples = 0;
  double seconds = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(samples, seconds);
  }
};

// The curve through measured batches (both numbers positive; others are ignored; at least one usable).
//
// Least squares, made robust by reweighting: residuals are measured in units of their median (Huber's weights
// for the first rounds, then Tukey's bisquare, which gives a far outlier no weight at all), so that up to
// about a third of the batches may be disturbed. What the measurements do not say is taken from one weak
// extra observation, "no samples take no time", which weighs as much as the noise justifies: batches of one
// size give the line through the origin, and batches of nearly one size almost that, instead of a slope made
// of noise.
Affine fit_affine(std::span<const TimedBatch> batches);

}  // namespace steelyard::balancing
