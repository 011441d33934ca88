// What becomes of the job when a server is silent, gone, or there again: the part of Scheduler that decides
// that.
#include "scheduler/members/liveness.h"
#include "scheduler/scheduler.h"

namespace steelyard {

// A worker that could not pull or push meanwhile has not stood still.
void Scheduler::end_wait_for(Time now, ShardMember& server, Outbox& out) {
  if (!std::exchange(server.awaited, false)) return;
  Dispatch::note(is_back(server, now), out);
  for (auto& [slot, worker] : members_.workers) worker.progress.interrupted(now);
}

bool Scheduler::promote_mirror(std::uint32_t slot, Outbox& out) {
  if (!mirrors_.promote(slot, out)) return false;
  members_.shards.at(slot).awaited = false;
  admission_.change_roster();
  dispatch_.roster_to_all(out);
  return true;
}

// It is silent. Before the training begins a server holds nothing that the checkpointer could not give to
// another.
void Scheduler::miss_shard(Time now, std::uint32_t slot, Outbox& out) {
  if (promote_mirror(slot, out)) return;
  ShardMember& shard = members_.shards.at(slot);
  if (phase() == Phase::gathering) {
    Dispatch::note("server '" + shard.name + "' is lost; waiting for another", out);
    members_.shards.erase(slot);
    return;
  }
  const bool told_to_end = training_.shutdown().requested();
  const EndOfWait end = end_of_wait(shard, now, silence_counts_from_, told_to_end, job_);
  if (end != EndOfWait::none) return lose_shard(now, shard, end, out);
  if (!std::exchange(shard.awaited, true)) Dispatch::note(waits_for(shard, now, job_), out);
}

void Scheduler::lose_shard(Time now, const ShardMember& shard, EndOfWait why, Outbox& out) {
  training_.fail(now, {Outcome::server_lost, lost_with_its_part(shard, why)}, out);
}

// The supervisor of the processes has found that one of them is gone for good. A process that lives would
// have connected again by now.
void Scheduler::lose_closed_shards(Time now, Outbox& out) {
  if (phase() == Phase::gathering) return;
  for (const auto& [slot, shard] : members_.shards) {
    if (shard.broken && now - shard.broken_since > timeout_of(job_))
      return lose_shard(now, shard, EndOfWait::proof, out);
  }
}

}  // namespace steelyard
