// A change of roster, as all nodes that speak to shards apply it: connections to shards that are gone end, to
// those that are there begin (or stay: connecting twice is harmless).
#pragma once

#include <algorithm>

#include "wire/machine.h"

namespace steelyard {

inline void adopt(const Roster& roster, std::vector<ShardPlace>& shards, Outbox& out) {
  for (const ShardPlace& former : shards) {
    const auto same = [&](const ShardPlace& shard) { return shard.node == former.node; };
    if (std::ranges::none_of(roster.shards, same)) out.send<ToLink>(link_node, Disconnect{former.node});
  }
  shards = roster.shards;
  for (const ShardPlace& shard : shards) out.send<ToLink>(link_node, Connect{shard.node, shard.endpoint});
}

}  // namespace steelyard
