#include "scheduler/rounds/idle_workers.h"

#include <set>

namespace steelyard {

Orders IdleWorkers::begin(const Members& members, const Orders& orders) {
  std::set<std::uint32_t> busy;
  for (const Order& order : orders) {
    if (const auto* piece = std::get_if<Assign>(&order)) busy.insert(piece->slot);
  }
  Orders notes;
  for (const auto& [slot, worker] : members.workers) {
    std::uint64_t& rounds = rounds_[slot];
    if (rounds == noted_after) continue;
    rounds = worker.working() && !busy.contains(slot) ? rounds + 1 : 0;
    if (rounds < noted_after) continue;
    notes.push_back(Remark{"worker '" + worker.name + "' is idle: policy '" + policy_ +
                           "' gave it no samples for " + std::to_string(noted_after) + " rounds"});
  }
  return notes;
}

}  // namespace steelyard
