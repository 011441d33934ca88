#include "scheduler/rounds/progress_monitor.h"

#include <algorithm>

#include "protocol/keys.h"
#include "scheduler/members/liveness.h"

namespace steelyard {

namespace {

constexpr Duration first_reminder = std::chrono::seconds(30);

}  // namespace

std::vector<std::string> ProgressMonitor::waiting_for(Time now) {
  if (!reminder_.due(now, first_reminder)) return {};
  std::vector<std::string> sentences{"still waiting: " + std::to_string(members_.shards.size()) + " of " +
                                     std::to_string(job_.shards) + " shards are there; " +
                                     std::to_string(members_.working().size()) + " of " +
                                     std::to_string(job_.workers) + " workers are ready"};
  if (job_.replicas > 0) {
    const auto filled =
        std::ranges::count_if(members_.mirrors, [](const auto& it) { return it.second.filled; });
    sentences.push_back("still waiting: " + std::to_string(filled) + " of " + std::to_string(job_.shards) +
                        " shards have a mirror, in another process than their own");
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
  return !members_.working().empty() && std::ranges::count_if(members_.workers, counts) >= job_.workers;
}

bool ProgressMonitor::is_cut_off(Time now, const WorkerMember& worker) const {
  return worker.progress.cut_off(now) > from_seconds(job_.heartbeat_timeout);
}

// A worker that is cut off may owe nothing and still hold up a round: what it has reported did not reach
// every shard, and nor would what it is given next.
bool ProgressMonitor::is_stalled(Time now, const WorkerMember& worker) const {
  if (members_.working().size() > 1 && is_cut_off(now, worker)) return true;
  const std::optional<Time> possible = could_begin(worker);
  if (!possible) return false;
  const Duration still = worker.progress.standstill(now, *possible);
  return members_.working().size() > 1 &&
         (unusually_silent(worker, now, job_) ||
          worker.progress.too_long(still, now, from_seconds(job_.heartbeat_timeout)));
}

// Since when the shards have the parameters for what it owes. Nothing while it waits for them with everybody
// else, or owes nothing.
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
  const std::string relief = worker.ready ? "; others do what it owes" : "; nothing is given to it";
  const auto& unreached = worker.progress.unreached();
  const auto cut_off = [&](const auto& servers) -> std::string {
    for (const auto& [slot, server] : servers) {
      if (std::ranges::find(unreached, server.node) == unreached.end()) continue;
      const auto silent = std::chrono::duration_cast<std::chrono::seconds>(worker.progress.cut_off(now));
      return who + "has had no answer from server '" + server.name + "' at " +
             split_key(server.endpoint).address + " for " + std::to_string(silent.count()) + " s" + relief +
             ": can that address be reached from there (server --advertise, firewall), and is the worker's "
             "key in "
             "the allow-list there?";
    }
    return "";
  };
  if (std::string it = cut_off(members_.shards); !it.empty()) return it;
  if (std::string it = cut_off(members_.mirrors); !it.empty()) return it;
  if (unusually_silent(worker, now, job_)) return who + "has not been heard for unusually long" + relief;
  return who + "stands still, though it has all the parameters that it needs" + relief +
         ": is its data within reach?";
}

}  // namespace steelyard
