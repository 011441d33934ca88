#include "scheduler/members/crowding.h"

#include <algorithm>

namespace steelyard {
namespace {

// It waits for crowded workers alone, and for longer than it waited for all others: since the last report.
// A heartbeat at least, so that no short round is judged by a single delay.
bool waits_for_crowded(const RoundState& round, const Members& members, Time now, Duration grace) {
  Time last = round.started();
  bool any_done = false;
  for (const auto& [id, piece] : round.pieces()) {
    if (piece.reported) {
      any_done = true;
      last = std::max(last, piece.since);
      continue;
    }
    const auto owner = piece.owner ? members.workers.find(*piece.owner) : members.workers.end();
    if (owner == members.workers.end() || !owner->second.room.crowded()) return false;
  }
  return any_done && round.untaken().empty() &&
         now - last > std::max<Duration>(last - round.started(), grace);
}

}  // namespace

std::vector<std::uint32_t> to_leave(const Members& members, const std::list<RoundState>& rounds, Time now,
                                    const Job& job) {
  std::vector<std::uint32_t> slots, working = members.working();
  const auto oldest = std::ranges::find_if(rounds, [](const RoundState& it) { return !it.done; });
  const bool waits = oldest != rounds.end() && !oldest->reported() &&
                     waits_for_crowded(*oldest, members, now, from_seconds(job.heartbeat));
  for (const std::uint32_t slot : working) {
    const Room& room = members.workers.at(slot).room;
    if (room.full(now) || (waits && room.crowded() && oldest->owes(slot))) slots.push_back(slot);
  }
  if (slots.size() == working.size() && !slots.empty()) slots.pop_back();
  return slots;
}

std::vector<std::uint32_t> to_come_back(const Members& members, Time now) {
  std::vector<std::uint32_t> slots;
  for (const auto& [slot, worker] : members.workers) {
    if (worker.room.is_back(now)) slots.push_back(slot);
  }
  return slots;
}

std::string leaves(const WorkerMember& worker) {
  return "worker '" + worker.name +
         "' is polite, and other programs use all of its machine: others do what it owes until there is room";
}

std::string comes_back(const WorkerMember& worker) {
  return "there is room for worker '" + worker.name + "' on its machine again";
}

}  // namespace steelyard
