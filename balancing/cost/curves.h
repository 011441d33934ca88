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
// The linear on-line model of LBB (Yao et al., J. Supercomputing 2024, eq. 1 with a2 = a3 = 0). With fixed =
// 0 it is the speed model of LB-BSP on CPUs (Chen et al., SoCC 2020): t = x / v.
struct Affine {
  double fixed = 0;       // seconds, not negative
  double per_sample = 0;  // seconds, positive: time increases with samples

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

// Fits a line to measured batches (both numbers positive; others are ignored; at least one must be usable).
//
// Least squares, made robust by reweighting: residuals are measured in units of their median (Huber's weights
// in the first iterations, then Tukey's bisquare, which gives far outliers no weight), so that up to about a
// third of the batches may be disturbed. A weak extra observation, "no samples take no time", supplies what
// the measurements do not determine; its weight follows from the noise. Batches of one size thus give the
// line through the origin, and batches of nearly one size almost that, instead of a slope made of noise.
Affine fit_affine(std::span<const TimedBatch> batches);

// AffineWindow: the current curve of one worker, a robust fit over its recent batches that also detects
// lasting changes.
//
// The fit ignores outliers, so after a change it would also ignore the first half window. Therefore, if
// `changed_after` batches in a row lie clearly above the curve, or all below it, older batches are dropped. A
// single outlier changes nothing; a change is followed after three batches.
class AffineWindow {
 public:
  static constexpr std::size_t capacity = 64;      // batches kept
  static constexpr std::size_t changed_after = 3;  // batches in a row
  static constexpr double change = 0.25;           // relative distance from the curve

  // Returns false, and changes nothing, for an impossible batch: no samples, no time, not finite.
  bool add(TimedBatch batch);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(batches_, curve_);
  }

  [[nodiscard]] bool empty() const { return batches_.empty(); }
  // The curve of the batches added; {0, 0} before the first.
  [[nodiscard]] const Affine& curve() const { return curve_; }

 private:
  void refit();
  [[nodiscard]] bool changed() const;

  std::deque<TimedBatch> batches_;
  Affine curve_;
};

// ForgettingLine: a line fitted on line by recursive least squares with forgetting, kept as its sums.
//
//   minimise  sum_k lambda^(K-k) (t_k - alpha b_k - beta)^2,   alpha > 0, beta >= 0
//
// The textbook recursion and the normal equations over sums multiplied by lambda give the same line. The sums
// need no start-up matrix, and no special care if all batches had one size: then, and if the unconstrained
// line violates a sign, the result is the line through the origin.
//
// The performance model of BOA (Yang, Kang, Youn: J. Supercomputing 2020); lambda and the signs are ours, as
// its abstract gives none.
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

// Cubic: time as a polynomial of the batch, at most cubic, clamped so that it never decreases:
//
//   p(b) = a0 + a1 b + a2 b^2 + a3 b^3,    T(b) = max(0, max over 0 <= x <= b of p(x)).
//
// The profile of LBB (Yao et al., J. Supercomputing 2024, eq. 1). The clamp is ours: a cubic through noisy
// times bends down beyond the measured sizes, and a falling curve promises time for nothing.
struct Cubic {
  std::array<double, 4> terms{};  // seconds, low order first

  [[nodiscard]] double operator()(double samples) const;
  // For a share processed as described by `walk`: in several batches, and several times.
  [[nodiscard]] double over(const Walk& walk, double samples) const;
  // The tangent of over() at `samples` > 0, limited to a line without a negative part.
  [[nodiscard]] Affine near(double samples, const Walk& walk) const;
  // The same time over grains of this many samples: p(g b) as a polynomial of b.
  [[nodiscard]] Cubic over_grains(std::uint64_t grain) const;
  friend bool operator==(const Cubic&, const Cubic&) = default;
  void serialize(auto& fields) { fields(terms); }
};

// Least squares through measured batches (LBB, Alg. 1), of the relative errors: noise grows with the time,
// and a slow worker's share is one of the small sizes. Unusable batches are ignored; at least one must be
// usable. The degree follows from the number of different sizes; one size gives the line through the origin.
Cubic fit_cubic(std::span<const TimedBatch> batches);

// The curves measured before the job: a named curve is for the worker of that name; curves without a name are
// for the slots, in order. Slots are numbered as workers join, so names are more reliable.
class Profile {
 public:
  struct Line {
    std::string name;  // may be empty
    Cubic curve;
  };
  Profile() = default;
  explicit Profile(const std::vector<Line>& lines);

  [[nodiscard]] bool empty() const { return by_name_.empty() && by_slot_.empty(); }
  // The worker's own curve; for a worker not listed, the mean of all. The profile must not be empty.
  [[nodiscard]] const Cubic& of(const std::string& name, std::uint32_t slot) const;
  [[nodiscard]] const Cubic& mean() const { return mean_; }  // of all curves; 0 if empty

 private:
  std::map<std::string, Cubic> by_name_;
  std::vector<Cubic> by_slot_;
  Cubic mean_;
};

}  // namespace steelyard::balancing
