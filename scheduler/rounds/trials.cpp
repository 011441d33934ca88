// Trials: workers that are measured beside a round, which does not wait for them (Policy::beside_round()).
#include <algorithm>
#include <optional>

#include "scheduler/rounds/assignments.h"
#include "scheduler/rounds/planner.h"

namespace steelyard {

std::vector<std::size_t> moved_trials(const balancing::Request& request,
                                      const std::vector<std::uint32_t>& slots,
                                      std::vector<std::uint64_t>& grains) {
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < grains.size(); ++i) {
    if (grains[i] != 1 || std::ranges::find(slots, request.workers[i].slot) == slots.end()) continue;
    std::optional<std::size_t> largest;
    for (std::size_t j = 0; j < grains.size(); ++j) {
      if (j != i && grains[j] > 1 && grains[j] < request.workers[j].most &&
          (!largest || grains[j] > grains[*largest]))
        largest = j;
    }
    if (!largest) continue;
    ++grains[*largest];
    grains[i] = 0;
    moved.push_back(i);
  }
  return moved;
}

void Assignments::measure(const RoundState& round, const Planner::Share& share, Orders& orders) {
  const PieceId id = next_trial_++;
  const BeginRound& open = round.open();
  trials_[share.slot] = {id, share.positions, members_.workers.at(share.slot).reading};
  orders.emplace_back(Measure{
      share.slot,
      {term_,
       {id, open.round, round.purpose(), open.epoch, share.positions, open.positions, {}, whole_model}}});
}

// True if it is the report of a trial. A round is not concerned.
bool Assignments::report_trial(const WorkerMember& worker, const Report& report) {
  const auto trial = trials_.find(worker.slot);
  if (trial == trials_.end() || trial->second.id != report.piece.id ||
      trial->second.positions != report.piece.positions)
    return false;
  const MachineReading planned = trial->second.planned;
  trials_.erase(trial);
  measured_.push_back(
      {worker.slot, worker.name, report.piece.positions.size(), report.seconds, report.cpu, report.memory});
  if (const auto sample = planner_.sample(worker, report, planned, -1)) planner_.observe(*sample);
  return true;
}

}  // namespace steelyard
