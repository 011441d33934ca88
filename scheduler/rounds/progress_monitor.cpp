#include "scheduler/rounds/progress_monitor.h"

#include <algorithm>

#include "protocol/keys.h"
#include "scheduler/members/liveness.h"

namespace steelyard {

namespace {

constexpr Duration first_reminder = std::chrono::seconds(30);

// Whether the round waits only for crowded workers, and has done so since its last report for longer than all
// its other workers took, and longer than `grace`, a heartbeat, so that a single delay in a short round does
// not count.
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

std::vector<std::string> ProgressMonitor::waiting_for(Time now) {
  if (!reminder_.due(now, first_reminder)) return {};
  std::vector<std::string> sentences{"still waiting: " + std::to_string(members_.shards.size()) + " of " +
                                     std::to_string(job_.shards) + " shards have joined; " +
                                     std::to_string(members_.working().size()) + " of " +
                                     std::to_string(job_.workers) + " workers are ready"};
  if (job_.replicas > 0) {
    const auto filled =
        std::ranges::count_if(members_.mirrors, [](const auto& it) { return it.second.filled; });
    sentences.push_back("still waiting: " + std::to_string(filled) + " of " + std::to_string(job_.shards) +
                        " shards have a filled mirror in another process");
  }
  for (const auto& [slot, worker] : members_.workers) {
    if (worker.present && is_cut_off(now, worker)) sentences.push_back(what_is_missing(now, worker));
  }
  return sentences;
}

bool ProgressMonitor::enough_workers(Time now) const {
  const auto counts = [&](const auto& it) {
    const WorkerMember& worker = it.second;
    return worker.working() || (worker.present && is_cut_off(now, worker));
  };
  return members_.anybody_works() && std::ranges::count_if(members_.workers, counts) >= job_.workers;
}

bool ProgressMonitor::is_cut_off(Time now, const WorkerMember& worker) const {
  return worker.progress.cut_off(now) > from_seconds(job_.heartbeat_timeout);
}

// A worker that is cut off may delay a round even if it owes nothing: its pushes did not reach every shard,
// and neither would the next ones.
bool ProgressMonitor::is_stalled(Time now, const WorkerMember& worker) const {
  if (is_cut_off(now, worker) && members_.anybody_works(worker.slot)) return true;
  const std::optional<Time> possible = could_begin(worker);
  if (!possible) return false;
  const Duration still = worker.progress.standstill(now, *possible);
  return (unusually_silent(worker, now, job_) ||
          worker.progress.too_long(still, now, from_seconds(job_.heartbeat_timeout))) &&
         members_.anybody_works(worker.slot);
}

// Time since which the shards have the parameters for its oldest piece. std::nullopt if they do not yet, or
// if it owes nothing.
std::optional<Time> ProgressMonitor::could_begin(const WorkerMember& worker) const {
  for (const RoundState& round : rounds_) {
    if (round.possible && round.owes(worker.slot)) return round.possible;
  }
  return std::nullopt;
}

bool ProgressMonitor::shards_answer(Time now) const {
  return std::ranges::all_of(members_.shards, [&](const auto& it) {
    return !it.second.broken && now - it.second.last_heard <= timeout_of(job_);
  });
}

bool ProgressMonitor::gets_on_again(Time now, const WorkerMember& worker, const WorkerBeat& beat) {
  if (!worker.stalled || !beat.unreached.empty()) return false;
  return beat.held.empty() || worker.progress.standstill(now, {}) <= Duration{};
}

std::string ProgressMonitor::what_is_missing(Time now, const WorkerMember& worker) const {
  const std::string who = "worker '" + worker.name + "' ";
  const std::string relief = worker.ready ? "; other workers take over its pieces" : "; it gets no pieces";
  const auto& unreached = worker.progress.unreached();
  const auto cut_off = [&](const auto& servers) -> std::string {
    for (const auto& [slot, server] : servers) {
      if (std::ranges::find(unreached, server.node) == unreached.end()) continue;
      const auto silent = std::chrono::duration_cast<std::chrono::seconds>(worker.progress.cut_off(now));
      return who + "has had no answer from server '" + server.name + "' at " +
             split_key(server.endpoint).address + " for " + std::to_string(silent.count()) + " s" + relief +
             ": check that the worker can reach that address (server --advertise, firewall), and that its "
             "key is in the server's allow-list";
    }
    return "";
  };
  if (std::string it = cut_off(members_.shards); !it.empty()) return it;
  if (std::string it = cut_off(members_.mirrors); !it.empty()) return it;
  if (unusually_silent(worker, now, job_)) return who + "has been silent for unusually long" + relief;
  return who + "makes no progress, although it has all the parameters it needs" + relief +
         ": check that it can read its data";
}

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
         "' runs in the background, and other programs use all of its machine: other workers take over its "
         "pieces until processors are free";
}

std::string comes_back(const WorkerMember& worker) {
  return "worker '" + worker.name + "' has free processors again";
}

}  // namespace steelyard
