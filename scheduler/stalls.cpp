// Who is there and does not get on: named, relieved of what it owes, and let in again when it does.
#include <algorithm>

#include "scheduler/scheduler.h"

namespace steelyard {

// Until the training begins, what it waits for is said again and again.
void Scheduler::remind(Time now, Outbox& out) {
  if (phase_ != Phase::gathering) return;
  if (!reminder_.due(now, std::chrono::seconds(30))) return;
  const std::string servers =
      std::to_string(members_.shards.size()) + " of " + std::to_string(job_.shards) + " shards are there";
  const std::string workers = std::to_string(members_.working().size()) + " of " +
                              std::to_string(job_.workers) + " workers are ready";
  note(out, "still waiting: " + servers + "; " + workers);
  for (const auto& [slot, worker] : members_.workers) {
    if (worker.present && is_cut_off(now, worker)) note(out, what_is_missing(now, worker));
  }
}

// Since when it could do what it owes: the shards have the parameters for it. Nothing while it waits for them
// with everybody else, or owes nothing.
std::optional<Time> Scheduler::could_begin(const WorkerMember& worker) const {
  for (const Work& work : works_) {
    if (work.possible && work.owes(worker.slot)) return work.possible;
  }
  return std::nullopt;
}

bool Scheduler::is_cut_off(Time now, const WorkerMember& worker) const {
  return worker.headway.cut_off(now) > from_seconds(job_.dead_after);
}

// While a server is silent itself, nobody gets on.
bool Scheduler::shards_answer(Time now) const {
  return std::ranges::all_of(members_.shards, [&](const auto& it) {
    return !it.second.broken && now - it.second.last_heard <= timeout();
  });
}

void Scheduler::watch_headway(Time now, Outbox& out) {
  for (auto& [slot, worker] : members_.workers) {
    const bool cut_off = worker.present && !worker.ready && is_cut_off(now, worker);
    if (cut_off && !worker.cut_off_said) note(out, what_is_missing(now, worker));
    worker.cut_off_said = cut_off;
  }
  if (phase_ != Phase::running || !shards_answer(now)) return;
  for (const std::uint32_t slot : members_.working()) {
    WorkerMember& worker = members_.workers.at(slot);
    const std::optional<Time> possible = could_begin(worker);
    if (!possible) continue;
    const Duration still = worker.headway.standstill(now, *possible);
    if (worker.headway.too_long(still, now, from_seconds(job_.dead_after))) stall(now, worker, out);
  }
}

void Scheduler::stall(Time now, WorkerMember& worker, Outbox& out) {
  if (members_.working().size() < 2) return;  // nobody else could do it
  worker.stalled = true;
  note(out, what_is_missing(now, worker));
  for (Work& work : works_) {
    for (const PieceId id : work.owed_by(worker.slot)) reissue(now, work, id, out);
  }
}

// It has let go of what others do now, or has got on with it.
void Scheduler::recover(Time now, WorkerMember& worker, const WorkerBeat& beat, Outbox& out) {
  if (!worker.stalled || !beat.unreached.empty()) return;
  if (!beat.held.empty() && worker.headway.standstill(now, {}) > Duration{}) return;
  worker.stalled = false;
  note(out, "worker '" + worker.name + "' gets on again");
  if (mode_.slack > 0) free_.insert(worker.slot);
}

std::string Scheduler::what_is_missing(Time now, const WorkerMember& worker) const {
  const std::string who = "worker '" + worker.name + "' ";
  const std::string relief = worker.ready ? "; others do what it owes" : "; nothing is given to it";
  for (const auto& [slot, shard] : members_.shards) {
    if (std::ranges::find(worker.headway.unreached(), shard.node) == worker.headway.unreached().end())
      continue;
    return who + "has had no answer from server '" + shard.name + "' at " + shard.endpoint + " for " +
           std::to_string(
               std::chrono::duration_cast<std::chrono::seconds>(worker.headway.cut_off(now)).count()) +
           " s" + relief + ": can that address be reached from there (server --advertise, firewall)?";
  }
  return who + "stands still, though it has all the parameters that it needs" + relief +
         ": is its data within reach?";
}

}  // namespace steelyard
