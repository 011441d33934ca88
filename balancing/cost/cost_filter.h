// The time of one worker in the next round, and how sure that is.
//
//   T(b) = level * shape(b) / shape(b of the last round)
//
//  - shape: a line with a fixed and a variable part (cost_line.h);
//  - level: how long a batch takes at present (level.h);
//  - sudden changes: accidents are held back, lasting changes followed at once (sudden_change.h). One round
//    is enough if the caller says that changes last, if a signal explains it, or if the worker is as fast as
//    it was before a change;
//  - signals: the CPU share and the free memory move the level before a time is measured
//    (machine_signals.h);
//  - cold start: the first batch is forgotten if the second takes less than half as long per sample;
//  - profile: believed until something else is measured.
//
// The shape and the level are apart because a policy gives less to a worker that is slow. An estimate that
// mistook drift for shape would see samples that cost nothing.
//
// A plain object of one thread; some 0.3 microseconds per measurement.
#pragma once

#include <cstdint>
#include <optional>

#include "balancing/cost/cost_line.h"
#include "balancing/cost/cost_level.h"
#include "balancing/cost/machine_signals.h"
#include "balancing/cost/rules.h"
#include "balancing/cost/sudden_change.h"

namespace steelyard::balancing {

class CostFilter {
 public:
  using Verdict = SuddenChange::Verdict;

  explicit CostFilter(const Rules& rules = {}) : rules_(rules) {}
  // Seconds over samples, before any batch.
  CostFilter(const Rules& rules, const Affine& profile) : rules_(rules), profile_(profile) {}

  // A batch that is possible (policy/last_round.h). `believe`: changes last here.
  Verdict observe(TimedBatch batch, const Signals& told, bool believe);

  [[nodiscard]] bool empty() const { return !shape_; }

  // None of these before the first batch.
  [[nodiscard]] Affine curve(const Signals& now) const;
  [[nodiscard]] double doubt(double samples) const;  // relative deviation of the curve there

  // Whether one round may speak for itself: a sudden change was just followed, or is told by a signal, or too
  // few measurements were followed since the last one, or the start, to say what is usual.
  [[nodiscard]] bool changing(const Signals& now) const;

  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }  // that it was measured in

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  void first(TimedBatch batch, const Signals& told);
  void adopt_profile(double samples);
  void go_to(double units);
  void follow(double seconds);
  void jump(double change, bool confirmed);  // of the logarithm of the time
  [[nodiscard]] bool was_as_fast(double seconds) const;

  Rules rules_;
  std::optional<Affine> profile_;  // until the first batch
  double unit_ = 1;                // samples of the first batch
  double units_ = 1;               // of the batch that the level refers to
  std::optional<CostLine> shape_;  // none before the first batch
  Level level_{1, rules_};
  SuddenChange changes_;
  MachineSignals signals_;
  bool jumped_ = false;         // by the last measurement
  std::uint64_t followed_ = 0;  // measurements since the last sudden change, or the start
  std::uint64_t rounds_ = 0;    // measured
  std::optional<Affine> fast_;  // seconds over units: as it was before it became slow
};

}  // namespace steelyard::balancing
