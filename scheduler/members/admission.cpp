#include "scheduler/members/admission.h"

#include <algorithm>

#include "protocol/keys.h"
#include "protocol/limits.h"
#include "protocol/node.h"
#include "scheduler/members/liveness.h"

namespace steelyard {
namespace {

constexpr Duration a_minute = std::chrono::minutes(1);

// Threads of one process are named PROCESS/NUMBER.
std::string_view process_of(std::string_view name) { return name.substr(0, name.find('/')); }

}  // namespace

std::optional<std::string> Refusals::refused(Time now, NodeId who, const Refuse& refuse) {
  if (!since_) since_ = now;
  const std::string what = to_string(who) + ": " + refuse.text;
  const std::pair its(who, static_cast<std::uint8_t>(refuse.reason));
  if (noted_.contains(its) || noted_.size() >= most_noted) {
    ++more_;
    last_ = what;
    return std::nullopt;
  }
  noted_.insert(its);
  return "refused " + what;
}

// Keeps the nodes that still send requests, unless the list is full.
std::optional<std::string> Refusals::due(Time now) {
  if (!since_ || now - *since_ < a_minute) return std::nullopt;
  std::optional<std::string> note;
  if (more_ > 0) note = "refused " + std::to_string(more_) + " more times within a minute, last " + last_;
  if (more_ == 0 || noted_.size() >= most_noted) noted_.clear();
  since_.reset();
  if (more_ > 0) since_ = now;
  more_ = 0;
  last_.clear();
  return note;
}

Admission::Admission(const Job& job, Members& members, const std::list<RoundState>& rounds)
    : job_(job),
      fingerprint_(fingerprint(job)),
      borders_(shard_borders(job.layout, job.shards)),
      members_(members),
      rounds_(rounds) {}

Admission::Answer Admission::answer(Time now, NodeId from, const Hello& hello, Phase phase) {
  if (!valid_name(hello.name)) {
    return Refused{Refusal::name, std::string("its name is invalid: give it a --name of ") + name_expected()};
  }
  if (hello.fingerprint != 0 && hello.fingerprint != fingerprint_) {
    return Refused{Refusal::other_job,
                   "'" + hello.name + "' was started for a job other than '" + job_.name +
                       "', which runs here: start it with this job's file, or without one"};
  }
  if (phase == Phase::stopping) return Refused{Refusal::finished, "the job '" + job_.name + "' is over"};
  if (members_.workers.size() + members_.shards.size() + members_.mirrors.size() >= limits::members) {
    return Refused{Refusal::full, "the job already has its maximum number of members"};
  }
  if (from.role == Role::shard) return answer_shard(now, from, hello, phase);
  if (from.role == Role::worker) return answer_worker(now, from, hello);
  return AskAgainLater{};
}

Admission::Answer Admission::answer_worker(Time now, NodeId from, const Hello& hello) {
  const std::uint32_t slot = members_.worker_slot(hello.name);
  const auto former = members_.workers.find(slot);
  if (former != members_.workers.end() && former->second.node == from) return Admitted{slot};
  if (const auto answer = contest(now, hello.name)) return *answer;
  if (hello.max_batch > 0 && hello.max_batch < job_.grain) {
    const std::string grain = std::to_string(job_.grain);
    return Refused{Refusal::memory, "worker '" + hello.name + "' holds " + std::to_string(hello.max_batch) +
                                        " samples at once (max_batch), and model '" + job_.model +
                                        "' takes its batch statistics over grains of " + grain +
                                        ": give it a max_batch of " + grain +
                                        " or more, or leave this worker out"};
  }
  forget_the_long_gone();
  members_.add({from, slot, hello.name, hello.kind, hello.max_batch, false, true, now, -1, -1});
  return Admitted{slot, "worker '" + hello.name + "' joined"};
}

// Returns std::nullopt if no present worker has this name.
std::optional<Admission::Answer> Admission::contest(Time now, const std::string& name) {
  const auto bearer = members_.workers.find(members_.worker_slot(name));
  if (bearer == members_.workers.end() || !bearer->second.present) return std::nullopt;
  WorkerMember& former = bearer->second;
  if (!former.contest || now - former.contest->last > timeout_of(job_)) former.contest = {now, now};
  former.contest->last = now;
  if (former.last_heard <= former.contest->since) return AskAgainLater{};
  former.contest.reset();
  return Refused{Refusal::full, "a worker named '" + name +
                                    "' is already in this job: give this one another --name, or start it "
                                    "again once that one is gone"};
}

// Forgets workers that left and owe no piece of an open round. Until there are many of them, a returning name
// keeps its slot.
void Admission::forget_the_long_gone() {
  if (members_.workers.size() < 2 * std::size_t{job_.workers} + 64) return;
  members_.remove_if([&](const WorkerMember& worker) {
    const auto takes_part = [&](const RoundState& round) {
      return !round.select([&](const OwedPiece& piece) { return piece.owner == worker.slot; }).empty();
    };
    return !worker.present && std::ranges::none_of(rounds_, takes_part);
  });
}

Admission::Answer Admission::answer_shard(Time now, NodeId from, const Hello& hello, Phase phase) {
  if (const std::string trouble = endpoint_trouble(hello.endpoint); !trouble.empty()) {
    return Refused{Refusal::endpoint,
                   "server '" + hello.name + "' announces the endpoint \"" + hello.endpoint +
                       "\": " + trouble +
                       "; start it with --advertise and a name or address that other machines can reach"};
  }
  const auto slot = members_.shard_slot(hello.name, job_.shards);
  const bool free = slot && !members_.shards.contains(*slot);
  if (job_.replicas > 0 && members_.shard(from) == nullptr && (hello.mirror || !free)) {
    return answer_mirror(now, from, hello);
  }
  if (!slot) {
    return Refused{Refusal::full, "the job '" + job_.name + "' already has all of its " +
                                      std::to_string(job_.shards) + " shards"};
  }
  const auto former = members_.shards.find(*slot);
  if (former != members_.shards.end()) {
    if (former->second.node == from) return Admitted{*slot};
    if (!former->second.broken && now - former->second.last_heard < from_seconds(job_.heartbeat_timeout)) {
      return Refused{Refusal::full, "a server named '" + hello.name +
                                        "' is already in this job: give this one another --name"};
    }
    if (phase != Phase::gathering) {
      return EndJob{Outcome::server_lost,
                    "server '" + hello.name + "' came back without its part of the model"};
    }
    members_.shards.erase(former);
  }
  members_.shards.try_emplace(*slot, ShardMember{from, *slot, hello.name, hello.endpoint, now, {}});
  ++roster_number_;
  // Workers have tested the connection to the former shard in this slot, not to this one.
  for (auto& [number, worker] : members_.workers) worker.ready = false;
  return Admitted{*slot, "server '" + hello.name + "' joined at " + split_key(hello.endpoint).address};
}

// A mirror is never in its primary's process, because it must survive that process. If all shards have a
// mirror, the server waits until the former holder of its name is declared lost.
Admission::Answer Admission::answer_mirror(Time now, NodeId from, const Hello& hello) {
  if (const MirrorMember* known = members_.mirror(from)) return Admitted{known->slot, {}, true};
  if (!has_all_shards()) return AskAgainLater{};
  for (const auto& [slot, shard] : members_.shards) {
    if (members_.mirrors.contains(slot) || process_of(shard.name) == process_of(hello.name)) continue;
    members_.mirrors.try_emplace(slot, MirrorMember{from, slot, hello.name, hello.endpoint, now});
    return Admitted{slot, "server '" + hello.name + "' joined as the mirror of '" + shard.name + "'", true};
  }
  return AskAgainLater{};
}

Roster Admission::roster() const {
  Roster roster{{}, roster_number_};
  if (!has_all_shards()) return roster;
  for (const auto& [slot, shard] : members_.shards) {
    ShardPlace place{shard.node, shard.endpoint, borders_[slot], borders_[slot + 1], shard.name};
    if (const auto mirror = members_.mirrors.find(slot); mirror != members_.mirrors.end()) {
      place.mirror = mirror->second.node;
      place.mirror_endpoint = mirror->second.endpoint;
    }
    roster.shards.push_back(std::move(place));
  }
  return roster;
}

}  // namespace steelyard
