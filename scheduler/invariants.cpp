#include "scheduler/invariants.h"

#include <algorithm>

namespace steelyard {

std::string Invariants::check(const Scheduler& scheduler) {
  const Course& course = scheduler.course();
  if (course.round() < last_round_) return "the round went back";
  if (course.epochs_done() < last_epochs_) return "the position in the data went back";
  if (scheduler.phase() < last_phase_) return "the phase went back";
  last_round_ = course.round();
  last_epochs_ = course.epochs_done();
  last_phase_ = scheduler.phase();

  const Work* before = nullptr;
  for (const Work& work : scheduler.works()) {
    if (before != nullptr && work.round() <= before->round())
      return "two works of one round, or out of order";
    if (before != nullptr && before->purpose() == Purpose::evaluate)
      return "something was begun during an evaluation";
    if (before != nullptr && work.purpose() == Purpose::evaluate && !before->done)
      return "an evaluation was begun before all rounds were done";
    if (work.round() > course.round() + scheduler.mode().slack)
      return "round " + std::to_string(work.round()) + " is further ahead than the slack allows";
    before = &work;
    if (std::string trouble = check_work(scheduler, work); !trouble.empty()) return trouble;
  }
  return {};
}

std::string Invariants::check_work(const Scheduler& scheduler, const Work& work) {
  const std::string name = "round " + std::to_string(work.round()) + ": ";
  IntervalSet seen;
  const bool running = scheduler.phase() <= Scheduler::Phase::running;
  const bool anybody = !scheduler.members().working().empty();
  for (const auto& [id, piece] : work.pieces()) {
    if (piece.positions.empty() || !work.open().positions.contains(piece.positions))
      return name + "a piece lies outside";
    if (!seen.add_if_absent(piece.positions)) return name + "two pieces overlap";
    if (piece.reported || !running) continue;
    if (!piece.owner) {
      if (anybody) return name + "a piece is owed by nobody";
      continue;
    }
    const auto owner = scheduler.members().workers.find(*piece.owner);
    if (owner == scheduler.members().workers.end() || !owner->second.present)
      return name + "a piece is owed by the lost";
  }
  if (!work.untaken().empty() && !seen.add_if_absent(work.untaken()))
    return name + "what is owed can be taken";
  if (seen.count() != work.open().positions.size()) return name + "the pieces do not cover the positions";
  return {};
}

}  // namespace steelyard
