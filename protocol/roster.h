// What all nodes that speak to shards do with a roster.
#pragma once

#include <algorithm>
#include <span>

#include "core/check.h"
#include "protocol/machine.h"

namespace steelyard {

// A change: connections to shards that are gone end, to those that are there begin (or stay: connecting twice
// is harmless).
inline void adopt(const Roster& roster, std::vector<ShardPlace>& shards, Outbox& out) {
  for (const ShardPlace& former : shards) {
    const auto same = [&](const ShardPlace& shard) { return shard.node == former.node; };
    if (std::ranges::none_of(roster.shards, same)) out.send<ToLink>(link_node, Disconnect{former.node});
  }
  shards = roster.shards;
  for (const ShardPlace& shard : shards) out.send<ToLink>(link_node, Connect{shard.node, shard.endpoint});
}

// Whether its shards have all slices of a model of so many, one after the other.
inline bool covers(const Roster& roster, std::size_t slices) {
  std::uint32_t next = 0;
  for (const ShardPlace& shard : roster.shards) {
    if (shard.first != next || shard.last < shard.first) return false;
    next = shard.last;
  }
  return next == slices;
}

// The shard that has this slice, of those that cover all.
inline NodeId holder_of(std::uint32_t slice, std::span<const ShardPlace> shards) {
  const auto its = [&](const ShardPlace& shard) { return shard.first <= slice && slice < shard.last; };
  const auto found = std::ranges::find_if(shards, its);
  CHECK(found != shards.end(), "the roster covers every slice");
  return found->node;
}

}  // namespace steelyard
