#include "scheduler/members/awaited.h"

#include <algorithm>

#include "core/text.h"
#include "protocol/keys.h"
#include "scheduler/members/liveness.h"
#include "scheduler/scheduler.h"

namespace steelyard {
namespace {

std::string silence_of(const ShardMember& server, Time now) {
  const auto whole = std::chrono::round<std::chrono::seconds>(now - server.last_heard);
  return std::to_string(whole.count()) + " s";
}

}  // namespace

EndOfWait end_of_wait(const ShardMember& server, Time now, Time counts_from, bool told_to_end,
                      const Job& job) {
  const Time heard = std::max(server.last_heard, counts_from);
  const bool closed =
      server.broken && now - std::max(heard, server.broken_since) > from_seconds(job.heartbeat_timeout);
  if (closed) return EndOfWait::proof;
  if (told_to_end) return EndOfWait::told_to_end;
  const bool over = job.server_wait > 0 && now - heard > from_seconds(job.server_wait);
  return over ? EndOfWait::time_is_up : EndOfWait::none;
}

std::string waits_for(const ShardMember& server, Time now, const Job& job) {
  const std::string limit =
      job.server_wait > 0 ? ", for " + number_text(job.server_wait) + " s at most (cluster.server_wait)" : "";
  return "server '" + server.name + "' at " + split_key(server.endpoint).address + " has been silent for " +
         silence_of(server, now) + ", and no mirror has its part of the model: the job waits for it" + limit +
         ". If the process is stopped, continue it (kill -CONT); if the network failed, repair it; if the "
         "process or its machine is gone, end the job (Ctrl-C) and resume it";
}

std::string is_back(const ShardMember& server, Time now) {
  return "server '" + server.name + "' is back after " + silence_of(server, now) + "; the job continues";
}

std::string lost_with_its_part(const ShardMember& server, EndOfWait why) {
  const std::string is_lost = "server '" + server.name + "' is lost, and with it its part of the model";
  switch (why) {
    case EndOfWait::time_is_up:
      return is_lost + ": it was silent for longer than cluster.server_wait";
    case EndOfWait::told_to_end:
      return is_lost + ": it was silent when the job was asked to end";
    default:
      return is_lost;
  }
}

// ---- the part of Scheduler that handles servers that are silent, lost, or back

// Workers could not pull or push during the wait, so it does not count as their standstill.
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

// The shard is silent. Before training begins it holds no state that the checkpointer could not send to
// another, so it can be replaced at once.
void Scheduler::miss_shard(Time now, std::uint32_t slot, Outbox& out) {
  if (promote_mirror(slot, out)) return;
  ShardMember& shard = members_.shards.at(slot);
  if (phase() == Phase::gathering) {
    Dispatch::note("server '" + shard.name + "' is lost; waiting for a replacement", out);
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

// The supervisor reports that some process exited for good. A live process would have reconnected by now, so
// a shard with a closed connection is lost.
void Scheduler::lose_closed_shards(Time now, Outbox& out) {
  if (phase() == Phase::gathering) return;
  for (const auto& [slot, shard] : members_.shards) {
    if (shard.broken && now - shard.broken_since > timeout_of(job_))
      return lose_shard(now, shard, EndOfWait::proof, out);
  }
}

}  // namespace steelyard
