#include "scheduler/rounds/invariants.h"

#include <algorithm>

#include "protocol/local_steps.h"

namespace steelyard {

std::string Invariants::check(const Scheduler& scheduler) {
  const EpochCursor& course = scheduler.cursor();
  if (course.round() < last_round_) return "the round went back";
  if (course.epochs_done() < last_epochs_) return "the position in the data went back";
  if (scheduler.phase() < last_phase_) return "the phase went back";
  last_round_ = course.round();
  last_epochs_ = course.epochs_done();
  last_phase_ = scheduler.phase();

  const RoundState* before = nullptr;
  for (const RoundState& round : scheduler.rounds()) {
    if (before != nullptr && round.round() <= before->round())
      return "two states of one round, or out of order";
    if (before != nullptr && before->purpose() == Purpose::evaluate)
      return "a round began during an evaluation";
    if (before != nullptr && round.purpose() == Purpose::evaluate && !before->done)
      return "an evaluation was begun before all rounds were done";
    if (round.round() > course.round() + scheduler.mode().slack)
      return "round " + std::to_string(round.round()) + " is further ahead than the slack allows";
    before = &round;
    if (std::string trouble = check_round(scheduler, round); !trouble.empty()) return trouble;
  }
  return {};
}

std::string Invariants::check_round(const Scheduler& scheduler, const RoundState& round) {
  const std::string name = "round " + std::to_string(round.round()) + ": ";
  IntervalSet seen;
  const bool running = scheduler.phase() <= Scheduler::Phase::running;
  const bool anybody = scheduler.members().anybody_works();
  for (const auto& [id, piece] : round.pieces()) {
    if (piece.positions.empty() || !round.open().positions.contains(piece.positions))
      return name + "a piece lies outside";
    if (!on_grains(round.open().positions, piece.positions, scheduler.grain()))
      return name + "a piece has a border inside a grain";
    if (!seen.add_if_absent(piece.positions)) return name + "two pieces overlap";
    if (piece.reported || !running) continue;
    if (!piece.owner) {
      if (anybody) return name + "a piece has no owner";
      continue;
    }
    const auto owner = scheduler.members().workers.find(*piece.owner);
    if (owner == scheduler.members().workers.end() || !owner->second.present)
      return name + "a piece is owed by a lost worker";
  }
  if (!round.untaken().empty() && !seen.add_if_absent(round.untaken()))
    return name + "an owed position can still be taken";
  for (const Interval& part : round.open().skipped) {
    if (!seen.add_if_absent(part)) return name + "an owed position belongs to another round";
  }
  if (seen.count() != round.open().positions.size()) return name + "the pieces do not cover the positions";
  return {};
}

}  // namespace steelyard
