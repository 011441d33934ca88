// Time as a function of the batch: lines fitted to measured points, with a window or with forgetting, and
// monotone cubics through the points of a profile.
#pragma once

#include <steelyard/policy.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "balancing/state.h"

namespace steelyard::balancing {

// Time as an affine function of the batch: seconds = fixed + per_sample * samples.
//
// The linear on-line model of LBB (Yao et al., J. Supercomputing 2024, eq. 1 with a2 = a3 = 0); with
// fixed = 0 it is the speed model of LB-BSP on CPUs (Chen et al., SoCC 2020): t = x / v.
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

// The curve of one worker as it is now: a robust fit over its recent batches that also
// notices a lasting change.
//
// The fit ignores outliers, so it would also ignore the first half window after a worker has become slower.
// Hence the second rule: when `changed_after` batches in a row all lie clearly above the curve, or all below
// it, everything older is dropped. A single outlier changes nothing; a change is followed after three
// batches.
class AffineWindow {
 public:
  static constexpr std::size_t capacity = 64;      // batches kept
  static constexpr std::size_t changed_after = 3;  // batches in a row
  static constexpr double change = 0.25;           // relative distance from the curve

  // False, and no change, for a batch that cannot be: no samples, no time, not finite.
  bool add(TimedBatch batch);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(batches_, curve_);
  }

  [[nodiscard]] bool empty() const { return batches_.empty(); }
  [[nodiscard]] const Affine& curve() const {
    return curve_;
  }  // of the batches added; {0, 0} before the first

 private:
  void refit();
  [[nodiscard]] bool changed() const;

  std::deque<TimedBatch> batches_;
  Affine curve_;
};

// A line fitted on line: recursive least squares with forgetting, written as its sums.
//
//   minimise  sum_k lambda^(K-k) (t_k - alpha b_k - beta)^2,   alpha > 0, beta >= 0
//
// The recursion of the textbooks and the normal equations over sums that are multiplied by lambda give the
// same line; the sums have no start-up matrix to choose and need no care when all batches had one size: then,
// and where the unconstrained line violates a sign, it is the line through the origin.
//
// The performance model of BOA (Yang, Kang, Youn: J. Supercomputing 2020); lambda and the signs are ours, its
// abstract names none.
class ForgettingLine {
 public:
  explicit ForgettingLine(double lambda = 0.95) : lambda_(lambda) {}

  void add(TimedBatch batch);  // both positive and finite
  [[nodiscard]] bool empty() const { return weight_ == 0; }
  [[nodiscard]] Affine curve() const;  // {0, 0} while empty

  void serialize(auto& fields) {
    fields(weight_, b_, t_, bb_, bt_);
    fields.require(weight_ >= 0 && bb_ >= 0, "a sum of squares is negative");
  }

 private:
  double lambda_;
  double weight_ = 0, b_ = 0, t_ = 0, bb_ = 0, bt_ = 0;  // weighted sums
};

// Time as a polynomial of the batch, at most cubic, clamped so that it never decreases:
//
//   p(b) = a0 + a1 b + a2 b^2 + a3 b^3,    T(b) = max(0, max over 0 <= x <= b of p(x)).
//
// The profile of LBB (Yao et al., J. Supercomputing 2024, eq. 1). The clamp is ours: a cubic through noisy
// times bends down beyond the sizes that were tried, and a curve that falls promises time for nothing.
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

// What was measured of the workers before the job: a curve for each, under its name; those without one are
// for the slots, in their order. Slots are numbered as workers join, so names are surer.
class Profile {
 public:
  struct Line {
    std::string name;  // may be empty
    Cubic curve;
  };
  Profile() = default;
  explicit Profile(const std::vector<Line>& lines);

  [[nodiscard]] bool empty() const { return by_name_.empty() && by_slot_.empty(); }
  // The worker's own curve; for a worker that is not listed, the mean of all. The profile is not empty.
  [[nodiscard]] const Cubic& of(const std::string& name, std::uint32_t slot) const;

 private:
  std::map<std::string, Cubic> by_name_;
  std::vector<Cubic> by_slot_;
  Cubic mean_;
};

}  // namespace steelyard::balancing
