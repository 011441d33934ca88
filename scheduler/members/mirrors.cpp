#include "scheduler/members/mirrors.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "scheduler/members/liveness.h"

namespace steelyard {
namespace {

constexpr Duration keeps_up = std::chrono::minutes(1);  // after which an earlier delay is forgotten
constexpr Duration first_rest = std::chrono::seconds(1), longest_rest = std::chrono::minutes(1);

}  // namespace

void Mirrors::name_primary(const MirrorMember& mirror, Outbox& out) const {
  const auto primary = members_.shards.find(mirror.slot);
  const auto attempt = attempts_.find(mirror.slot);
  if (primary == members_.shards.end() || attempt == attempts_.end()) return;
  out.send<ToShard>(mirror.node, MirrorOf{term_, attempt->second, primary->second.node});
}

void Mirrors::tell(const ShardMember& primary, Outbox& out) const {
  const auto attempt = attempts_.find(primary.slot);
  if (attempt == attempts_.end()) return;
  const auto mirror = members_.mirrors.find(primary.slot);
  const bool is_fed = mirror != members_.mirrors.end() && !mirror->second.rests_until;
  if (is_fed && !mirror->second.named) return name_primary(mirror->second, out);
  Mirror message{term_, attempt->second};
  if (is_fed) {
    message = {term_, attempt->second, false, mirror->second.node, mirror->second.endpoint};
  }
  out.send<ToShard>(primary.node, std::move(message));
}

void Mirrors::joined(std::uint32_t slot, Outbox& out) {
  const auto mirror = members_.mirrors.find(slot);
  const auto primary = members_.shards.find(slot);
  if (mirror == members_.mirrors.end() || primary == members_.shards.end()) return;
  mirror->second.filled = mirror->second.named = false;
  mirror->second.rests_until.reset();
  ++attempts_[slot];
  tell(primary->second, out);
}

bool Mirrors::heard(Time now, NodeId from) {
  MirrorMember* mirror = members_.mirror(from);
  if (mirror != nullptr) steelyard::heard(*mirror, now);
  return mirror != nullptr;
}

void Mirrors::heard(Time now, NodeId from, const MirrorState& said, Outbox& out) {
  if (MirrorMember* mirror = members_.mirror(from)) {
    const auto attempt = attempts_.find(mirror->slot);
    const auto its = members_.shards.find(mirror->slot);
    if (attempt == attempts_.end() || its == members_.shards.end()) return;
    if (said.attempt != attempt->second) return name_primary(*mirror, out);
    if (!std::exchange(mirror->named, true)) tell(its->second, out);
    return;
  }
  const ShardMember* primary = members_.shard(from);
  if (primary == nullptr) return;
  if (said.fed) return out.send<ToShard>(from, Promote{term_});  // it missed the first Promote
  const auto its = members_.mirrors.find(primary->slot);
  const auto attempt = attempts_.find(primary->slot);
  if (attempt == attempts_.end()) return;
  if (said.attempt < attempt->second) return tell(*primary, out);
  if (its == members_.mirrors.end()) return;
  MirrorMember& mirror = its->second;
  if (mirror.rests_until) {
    if (now >= *mirror.rests_until) joined(primary->slot, out);
  } else if (said.late) {
    if (now - mirror.last_heard > 3 * from_seconds(job_.heartbeat)) {
      lose(mirror.node, "does not answer", out);
    } else {
      fill_anew(now, *primary, mirror, out);
    }
  } else if (said.filled && !std::exchange(mirror.filled, true)) {
    Dispatch::note("server '" + mirror.name + "' mirrors '" + primary->name + "'", out);
  }
}

// The pauses grow, because refilling a mirror that falls behind each time is not worth its cost.
void Mirrors::fill_anew(Time now, const ShardMember& primary, MirrorMember& mirror, Outbox& out) {
  const auto late = std::exchange(mirror.late, now);
  if (!late || now - *late > keeps_up + mirror.rest) mirror.rest = {};
  const std::string what =
      "mirror '" + mirror.name + "' has fallen behind '" + primary.name + "': refilling it";
  if (mirror.rest == Duration{}) {
    mirror.rest = first_rest / 2;
    Dispatch::note(what, out);
    return joined(primary.slot, out);
  }
  mirror.rest = std::min(2 * mirror.rest, longest_rest);
  mirror.rests_until = now + mirror.rest;
  mirror.filled = false;
  Dispatch::note(what + " in " + std::to_string(mirror.rest / std::chrono::seconds(1)) + " s", out);
  ++attempts_[primary.slot];
  tell(primary, out);
}

bool Mirrors::lose(NodeId node, const std::string& why, Outbox& out) {
  const MirrorMember* mirror = members_.mirror(node);
  if (mirror == nullptr) return false;
  const std::uint32_t slot = mirror->slot;
  const auto primary = members_.shards.find(slot);
  const std::string whose =
      primary == members_.shards.end() ? "" : "; '" + primary->second.name + "' continues without a mirror";
  Dispatch::note("mirror '" + mirror->name + "' " + why + whose, out);
  members_.mirrors.erase(slot);
  lost_ = true;
  ++attempts_[slot];
  if (primary != members_.shards.end()) tell(primary->second, out);
  return true;
}

bool Mirrors::better_than(const ShardMember& primary, Time now) const {
  const auto mirror = members_.mirrors.find(primary.slot);
  return mirror != members_.mirrors.end() && mirror->second.filled && unusually_silent(primary, now, job_) &&
         now - mirror->second.last_heard < 2 * from_seconds(job_.heartbeat);
}

bool Mirrors::promote(std::uint32_t slot, Outbox& out) {
  const auto its = members_.mirrors.find(slot);
  if (its == members_.mirrors.end() || !its->second.filled) return false;
  const MirrorMember mirror = its->second;
  members_.mirrors.erase(its);
  ShardMember& shard = members_.shards.at(slot);
  Dispatch::note("server '" + shard.name + "' is lost; its mirror '" + mirror.name +
                     "' is in its place, without a mirror of its own",
                 out);
  shard.node = mirror.node;
  shard.name = mirror.name;
  shard.endpoint = mirror.endpoint;
  shard.last_heard = mirror.last_heard;
  shard.broken = false;
  shard.doubtful = true;  // it has received no more than the lost primary had
  out.send<ToShard>(mirror.node, Promote{term_});
  return true;
}

void Mirrors::beat(Outbox& out) const {
  for (const auto& [slot, mirror] : members_.mirrors)
    out.send<ToShard>(mirror.node, SchedulerBeat{term_, members_.generation});
}

void Mirrors::give_up_silent(const std::function<bool(const MirrorMember&)>& gone, Outbox& out) {
  std::vector<NodeId> silent;
  for (const auto& [slot, mirror] : members_.mirrors) {
    if (gone(mirror)) silent.push_back(mirror.node);
  }
  for (const NodeId node : silent) lose(node, "has been silent for too long", out);
}

bool Mirrors::all_filled() const {
  return job_.replicas == 0 ||
         (members_.mirrors.size() == job_.shards &&
          std::ranges::all_of(members_.mirrors, [](const auto& it) { return it.second.filled; }));
}

}  // namespace steelyard
