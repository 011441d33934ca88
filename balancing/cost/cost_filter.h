// The time of one worker as it will be in the next round, and how sure that is: the eyes of `steelyard`.
//
// Four ideas, each for one thing that machines do:
//  - drift: three lines (cost_line.h) that differ in how fast they forget follow every measurement; the one
//    whose one-step errors were least of late is believed. A quiet machine is averaged over many rounds, a
//    restless one followed at once;
//  - accidents: a time far from what was predicted changes nothing, but is remembered;
//  - lasting changes: if the next one is odd in the same direction the line is let loose and follows both. So
//    after a step two rounds run with the old split and no more. One round is enough if the CPU share moved as
//    well, if the worker is as fast as it has been before, or if the caller says that sudden changes last here;
//  - leading signals: what the CPU share says about the time (leading_signal.h) is applied before the round.
//
// A plain object of one thread; some 0.2 microseconds per measurement.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "balancing/cost/cost_line.h"
#include "balancing/cost/leading_signal.h"

namespace steelyard::balancing {

class CostFilter {
 public:
  // What a measurement showed about sudden changes: nothing, that one lasted, that one was an accident.
  enum class Verdict { none, lasted, accident };

  // A batch that is possible (policy/last_round.h); cpu is -1 if unknown. `believe`: changes last here.
  Verdict observe(TimedBatch batch, double cpu, bool believe);

  [[nodiscard]] bool empty() const { return lines_.empty(); }

  // None of these before the first batch.
  [[nodiscard]] Affine curve(double cpu_now) const;
  [[nodiscard]] double doubt(double samples) const;  // relative deviation of the curve there
  [[nodiscard]] double noise() const { return noise_; }

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  struct Odd {  // a measurement that nothing has explained so far
    double units, seconds;
    double surprise;  // ln(measured / predicted)
    bool held;        // kept from the lines
  };

  void first(TimedBatch batch, double cpu);
  void follow(double units, double seconds);
  void jump(double units, double seconds, double surprise);
  Verdict judge_last(double units, double seconds);
  [[nodiscard]] bool was_as_fast(double units, double seconds) const;
  void listen(double surprise, double cpu, double deviation);

  static constexpr std::array<double, 3> speeds{0.03, 0.3, 1.5};  // drift per round, in units of the noise

  double unit_ = 1;              // samples of the first batch
  std::vector<CostLine> lines_;  // one per speed; none before the first batch
  std::array<double, 3> errors_{};
  std::size_t chosen_ = 1;
  double noise_ = 0;   // relative deviation of a measurement
  double load_ = 0;    // of the CPU at the last batch that told it
  bool loaded_ = false;
  LeadingSignal signal_;
  std::optional<Odd> odd_, believed_;
  std::optional<Affine> fast_;  // seconds over units: as it was before it became slow
};

}  // namespace steelyard::balancing
