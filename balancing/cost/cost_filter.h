// The time of one worker as it will be in the next round, and how sure that is: the eyes of `steelyard`.
//
//   T(b) = level * shape(b) / shape(b of the last round)
//
// Six ideas, each for one thing that machines do:
//  - shape: one line with a fixed and a variable part (cost_line.h) that takes drift for granted, since a
//    policy gives less to who is slow: an estimate that mistook drift for shape would see samples that cost
//    nothing;
//  - level: two averages of the logarithm, one that forgets slowly and one that follows; the one whose
//    one-step errors were least of late is believed;
//  - accidents: a time far from what was predicted changes nothing, but is remembered;
//  - lasting changes: if the next one is odd in the same direction both are followed at once. So after a step
//    two rounds run with the old split and no more. One round is enough if the CPU share moved as well, if
//    the worker is as fast as it has been before, or if the caller says that sudden changes last here;
//  - leading signals: what the CPU share and the free memory that were last told say about the time
//    (leading_signal.h) is applied before that is measured;
//  - a profile, if there is one, is believed until something else is measured.
//
// A plain object of one thread; some 0.3 microseconds per measurement.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "balancing/cost/cost_line.h"
#include "balancing/cost/leading_signal.h"

namespace steelyard::balancing {

class CostFilter {
 public:
  // What a measurement showed about sudden changes: nothing, that one lasted, that one was an accident.
  enum class Verdict { none, lasted, accident };

  CostFilter() = default;
  explicit CostFilter(const Affine& profile) : profile_(profile) {}  // seconds over samples, before any batch

  // A batch that is possible (policy/last_round.h). `believe`: changes last here.
  Verdict observe(TimedBatch batch, const Signals& told, bool believe);

  [[nodiscard]] bool empty() const { return !shape_; }

  // None of these before the first batch.
  [[nodiscard]] Affine curve(const Signals& now) const;
  [[nodiscard]] double doubt(double samples) const;  // relative deviation of the curve there

  // Whether one round may speak for itself: a sudden change was just followed, or is told by a signal, or too
  // few measurements were seen since the last one, or the start, to say what is usual.
  [[nodiscard]] bool changing(const Signals& now) const;

  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }  // that it was measured in

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  struct Level {  // a random walk seen through noise: a Kalman filter of one state
    double log_seconds = 0, variance = 0;
    double error = 0;  // recent mean square of its one-step errors
    void update(double measured, double noise);
  };
  struct Odd {  // a measurement that nothing has explained so far
    double units, seconds;
    double surprise;  // ln(measured / predicted)
    bool held;        // kept from the estimates
  };

  struct Growth {  // since the last batch, of the logarithms; 0 where nothing is told
    double load, pressure;
  };

  void first(TimedBatch batch, const Signals& told);
  void adopt_profile(double samples);
  void go_to(double units);
  void follow(double seconds);
  void jump(double seconds, double surprise);
  bool follow_both(double surprise, double alike);
  Verdict judge_last(double seconds);
  [[nodiscard]] bool was_as_fast(double seconds) const;
  void listen(double surprise, const Signals& told, const Growth& growth, double deviation);
  [[nodiscard]] Growth growth(const Signals& now) const;
  [[nodiscard]] double foretold(const Growth& growth) const;  // of the logarithm of the time
  [[nodiscard]] double predicted() const;                     // seconds at units_

  // Drift of the level per round, in units of the noise.
  static constexpr std::array<double, 2> speeds{0.03, 1.5};

  std::optional<Affine> profile_;  // until the first batch
  double unit_ = 1;                // samples of the first batch
  std::optional<CostLine> shape_;
  double units_ = 1;  // of the batch that the levels refer to
  std::array<Level, 2> levels_;
  std::size_t chosen_ = 0;
  double noise_ = 0;    // relative deviation of a measurement
  double load_ = -1;    // of the CPU at the last batch that told it; -1 if none did
  double memory_ = -1;  // MB, at the last batch that told it; -1 if none did
  LeadingSignal cpu_signal_, memory_signal_;
  std::optional<Odd> odd_, believed_;
  bool jumped_ = false;         // by the last measurement
  std::uint64_t settled_ = 0;   // measurements followed since the last sudden change, or the start
  std::uint64_t rounds_ = 0;    // measured
  std::optional<Affine> fast_;  // seconds over units: as it was before it became slow
};

}  // namespace steelyard::balancing
