#include "worker/contact.h"

#include <algorithm>
#include <utility>

namespace steelyard {

bool Reach::adopt(const Roster& roster) {
  if (roster.number == roster_) return false;
  roster_ = roster.number;
  ready_ = false;
  awaited_.clear();
  for (const ShardPlace& shard : roster.shards) {
    awaited_.push_back(shard.node);
    if (shard.has_mirror()) awaited_.push_back(shard.mirror);
  }
  return true;
}

bool Reach::answered(NodeId shard) {
  return std::erase(awaited_, shard) > 0 && awaited_.empty() && !std::exchange(ready_, true);
}

void Reach::doubt(NodeId shard) {
  if (std::ranges::find(awaited_, shard) == awaited_.end()) awaited_.push_back(shard);
}

}  // namespace steelyard
