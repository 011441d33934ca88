// CostFilter: the time of one worker in the next round, and its uncertainty.
//
//   T(b) = level * shape(b) / shape(b of the last round)
//
//  - shape: a line with a fixed and a variable part (CostLine);
//  - level: the current time of a batch (Level);
//  - sudden changes: outliers are held back, lasting changes followed at once (SuddenChange). One round is
//    enough if the caller says that changes last, if a signal explains the change, or if the worker is as
//    fast as before an earlier change;
//  - signals: the CPU share and the free memory adjust the level before a time is measured (MachineSignals);
//  - cold start: the first batch is dropped if the second takes less than half as long per sample;
//  - profile: used until a time has been measured.
//
// Shape and level are separate because a policy gives less work to slow workers: an estimate that mistook
// drift for shape would conclude that samples cost nothing.
//
// A plain object for one thread; about 0.3 microseconds per measurement.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "balancing/cost/curves.h"
#include "balancing/cost/machine_signals.h"
#include "balancing/cost/rules.h"
#include "balancing/state.h"

namespace steelyard::balancing {

// CostLine: a line t = fixed + slope * b and its uncertainty: a Kalman filter of two states.
//
//   predict   P <- P + q^2 w w'                                w = (fixed, slope): the whole machine drifts
//   update    K = P h / (h' P h + (noise t)^2),  w <- w + K (t - h' w),  P <- P - K h' P        h = (1, b)
//
// Drift is common to both states because a co-tenant or a hot chip slows all of a machine, so the shape
// learned from two batch sizes survives a change of speed. Constraints: fixed >= 0 and slope > 0. Batches are
// in units of the first one, so that both states have the magnitude of its time.
class CostLine {
 public:
  // Starts from a first batch: assumes a tenth of its time as fixed, with a deviation of six tenths.
  CostLine(double units, double seconds);
  // Relative deviation assumed for a profile.
  static constexpr double profile_doubt = 0.1;
  // The line of a profile; `slope` per unit, through a batch of one unit.
  static CostLine of_profile(double fixed, double slope);

  void drift(double q);                                     // one round has passed
  void update(double units, double seconds, double noise);  // noise: relative deviation of a measurement
  void loosen();                                            // after a sudden change: raises the uncertainty
  void scale(double factor);                                // all times are known to change by this factor

  [[nodiscard]] double at(double units) const { return fixed_ + slope_ * units; }
  // Relative deviation of at(to) / at(from): the uncertainty of the shape between two sizes.
  [[nodiscard]] double doubt(double from, double to) const;
  [[nodiscard]] double fixed() const { return fixed_; }
  [[nodiscard]] double slope() const { return slope_; }

  void serialize(auto& fields) {
    fields(fixed_, slope_, p00_, p01_, p11_);
    fields.require(fixed_ >= 0 && slope_ > 0 && p00_ >= 0 && p11_ >= 0, "a line falls");
  }

 private:
  CostLine(double fixed, double slope, double units, double doubt);  // `doubt` about `fixed`, in seconds
  void keep_signs(double units);

  double fixed_, slope_;    // seconds, seconds per unit
  double p00_, p01_, p11_;  // covariance of the two
};

// SuddenChange: judges times that lie far from their prediction, to tell outliers from lasting changes.
//
//  - A time within 4 deviations of its prediction is followed: level and line are updated with it.
//  - A time further off is held back. If the next one is as far off on the same side, the change has lasted
//    and both are followed; otherwise the first was an outlier.
//  - With `believe`, a far time is followed at once; the next one shows whether that was right.
class SuddenChange {
 public:
  // The verdict on the previous measurement: nothing known, a change that lasted, or an outlier.
  enum class Verdict { none, lasted, accident };

  struct Answer {
    bool follow = false;           // update with the time as usual
    std::optional<double> jump{};  // otherwise: change the logarithm of the time by this
    bool confirmed = false;        // the jump is the mean of two measurements that agree
    Verdict verdict = Verdict::none;
  };

  // `surprise`: ln(measured / predicted). `deviation`: its predicted standard deviation.
  Answer judge(double surprise, double deviation, bool believe);

  void serialize(auto& fields) { fields(held_, believed_); }

 private:
  Verdict judge_believed(double surprise);

  std::optional<double> held_;      // surprise of the last measurement, if it was held back
  std::optional<double> believed_;  // surprise of the last measurement, if it was followed at once
};

// Level: the level of a worker's time, a random walk of its logarithm observed with noise.
//
//   predict   P <- P + (speed * noise)^2
//   update    K = P / (P + noise^2),  l <- l + K (ln t - l),  P <- (1 - K) P
//
// A slow and a quick average of this kind run side by side. The one with the smaller mean square of one-step
// errors is used. The noise is estimated from the errors that the level's own uncertainty does not explain.
class Level {
 public:
  static constexpr double first_doubt = 0.3;  // relative: first rounds are often slow

  // Starts from the first batch.
  Level(double seconds, const Rules& rules, double doubt = first_doubt);

  void follow(double seconds, double rounds);   // a measurement; `rounds`: number measured so far
  void jump(double seconds);                    // a measurement after a sudden change
  void shift(double log_factor, double doubt);  // the next batch takes longer; `doubt`: relative deviation of
                                                // that

  [[nodiscard]] double seconds() const;                  // predicted
  [[nodiscard]] double doubt() const;                    // its relative deviation
  [[nodiscard]] double noise() const { return noise_; }  // relative deviation of a measurement
  [[nodiscard]] double deviation(double rounds) const;   // relative, of the next measurement
  [[nodiscard]] double drift() const;                    // relative, per round, of the average in use

  void serialize(auto& fields) { fields(averages_, at_most(1, believed_), noise_); }

 private:
  static constexpr double most_log_seconds = 600;  // beyond this it is not a time

  struct Average {
    double log_seconds = 0, variance = 0;
    double error = 0;  // recent mean square of its one-step errors
    void update(double measured, double noise);
    void serialize(auto& fields) {
      fields(log_seconds, variance, error);
      fields.require(variance >= 0, "a variance is negative");
      fields.require(std::abs(log_seconds) < most_log_seconds, "no machine takes that long");
    }
  };

  std::array<Average, 2> averages_;  // slow, quick
  std::size_t believed_ = 0;
  double noise_;
  Rules rules_;
};

class CostFilter {
 public:
  using Verdict = SuddenChange::Verdict;

  explicit CostFilter(const Rules& rules = {}) : rules_(rules) {}
  // Seconds over samples, known before any batch.
  CostFilter(const Rules& rules, const Affine& profile) : rules_(rules), profile_(profile) {}

  // `batch` must be possible() (allocate/split.h). `before`: the load with which it was planned; `during`:
  // its mean over the batch. `believe`: sudden changes have lasted so far.
  Verdict observe(TimedBatch batch, const Signals& before, const Signals& during, bool believe);

  [[nodiscard]] bool empty() const { return !shape_; }

  // Only after the first batch.
  [[nodiscard]] Affine curve(const Signals& now) const;
  [[nodiscard]] double doubt(double samples) const;  // relative deviation of the curve there

  // Whether a single round may decide: a sudden change was just followed, or a signal indicates one, or too
  // few measurements have been followed since the last change, or the start, to know what is usual.
  [[nodiscard]] bool changing(const Signals& now) const;

  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }  // number measured

  void serialize(auto& fields) {
    bool measured = shape_.has_value();
    fields(measured);
    if (!measured) return;
    if (fields.reads) shape_ = CostLine(1, 1);
    fields(unit_, units_, *shape_, level_, changes_, signals_, jumped_, followed_, rounds_, fast_);
    fields.require(unit_ > 0 && units_ > 0, "a batch without samples");
  }

 private:
  void first(TimedBatch batch, const Signals& during);
  void adopt_profile(double samples);
  void go_to(double units);
  void follow(double seconds);
  void jump(double change, bool confirmed);  // of the logarithm of the time
  [[nodiscard]] bool was_as_fast(double seconds) const;

  Rules rules_;
  std::optional<Affine> profile_;  // until the first batch
  double unit_ = 1;                // samples of the first batch
  double units_ = 1;               // the batch size that the level refers to
  std::optional<CostLine> shape_;  // empty before the first batch
  Level level_{1, rules_};
  SuddenChange changes_;
  MachineSignals signals_;
  bool jumped_ = false;         // by the last measurement
  std::uint64_t followed_ = 0;  // measurements since the last sudden change, or the start
  std::uint64_t rounds_ = 0;    // measured
  std::optional<Affine> fast_;  // seconds over units: before it became slow
};

}  // namespace steelyard::balancing
