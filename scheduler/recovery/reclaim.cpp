#include "scheduler/recovery/reclaim.h"

#include <algorithm>

namespace steelyard {
namespace {

constexpr Duration ask_every = std::chrono::milliseconds(50);

}  // namespace

Reclaim::Reclaim(Term term, const StandbyFeed::Follower& follower, const Members& members, Duration wait)
    : term_(term),
      attempt_(follower.attempt),
      generation_(members.generation),
      wait_(wait),
      deciding_(follower.arbiters) {
  for (const auto& [slot, shard] : members.shards) asked_.push_back({shard.node, shard.endpoint});
  for (const auto& [slot, mirror] : members.mirrors) asked_.push_back({mirror.node, mirror.endpoint});
  if (deciding_.empty()) answer_ = Answer::granted;  // there were no shards, so the standby cannot lead
}

void Reclaim::step(Time now, const Envelope& in, Outbox& out) {
  (void)now;
  const auto* message = std::get_if<ToStandby>(&in.message);
  const auto* granted = message == nullptr ? nullptr : std::get_if<LeaderGrant>(message);
  if (finished() || granted == nullptr || granted->attempt != attempt_) return;
  if (std::ranges::find(asked_, in.from, &Asked::node) == asked_.end()) return;
  if (!granted->granted) {
    answer_ = Answer::refused;
  } else {
    std::erase(deciding_, in.from);
    if (deciding_.empty()) answer_ = Answer::granted;
  }
  if (!finished()) return;
  for (const Asked& it : asked_) out.send<ToLink>(link_node, Disconnect{it.node});
}

void Reclaim::wake(Time now, Outbox& out) {
  if (finished() || now < next_) return;
  if (!since_) {
    since_ = now;
    for (const Asked& it : asked_) out.send<ToLink>(link_node, Connect{it.node, it.endpoint});
  }
  if (now - *since_ > wait_) {
    answer_ = Answer::none;
    return;
  }
  next_ = now + ask_every;
  for (const Asked& it : asked_)
    out.send<ToShard>(it.node, LeaderClaim{term_, attempt_, it.node, generation_});
}

static_assert(Machine<Reclaim>);

}  // namespace steelyard
