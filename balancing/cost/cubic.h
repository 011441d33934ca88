// Time as a polynomial of the batch, at most cubic, clamped so that it never decreases:
//
//   p(b) = a0 + a1 b + a2 b^2 + a3 b^3,    T(b) = max(0, max over 0 <= x <= b of p(x)).
//
// The profile of LBB (Yao et al., J. Supercomputing 2024, eq. 1). The clamp is ours: a cubic through noisy
// times bends down beyond the sizes that were tried, and a curve that falls promises time for nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "balancing/cost/affine.h"
#include "balancing/policy.h"

namespace steelyard::balancing {

struct Cubic {
  std::array<double, 4> terms{};  // seconds, low order first

  [[nodiscard]] double operator()(double samples) const;
  // Of a share that is gone through in so many batches, so many times.
  [[nodiscard]] double over(const Walk& walk, double samples) const;
  // The line that touches over() there, as far as such a line has no negative part. samples > 0.
  [[nodiscard]] Affine near(double samples, const Walk& walk) const;
  // The same time over grains of so many samples: p(g b) as a polynomial of b.
  [[nodiscard]] Cubic over_grains(std::uint64_t grain) const;
  friend bool operator==(const Cubic&, const Cubic&) = default;
};

// Least squares through measured batches (LBB, Alg. 1); others than usable ones are ignored, at
// least one must be left. Of the degree that the number of different sizes allows: one size gives
// the line through the origin.
Cubic fit_cubic(std::span<const TimedBatch> batches);

}  // namespace steelyard::balancing
