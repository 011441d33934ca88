#include "scheduler/members.h"

#include <algorithm>

namespace steelyard {
namespace {

template <class Map>
auto* find_node(Map& members, NodeId node) {
  const auto it = std::ranges::find_if(members, [&](const auto& entry) { return entry.second.node == node; });
  return it == members.end() ? nullptr : &it->second;
}

template <class Map>
std::uint32_t lowest_free(const Map& members) {
  std::uint32_t slot = 0;
  while (members.contains(slot)) ++slot;
  return slot;
}

}  // namespace

WorkerMember* Members::worker(NodeId node) {
  if (node.role != Role::worker) return nullptr;
  const auto seen = seen_.find(node);
  const auto there = seen == seen_.end() ? workers.end() : workers.find(seen->second);
  if (there != workers.end() && there->second.node == node) return &there->second;
  WorkerMember* found = find_node(workers, node);
  if (found != nullptr) {
    if (seen_.size() > 2 * workers.size()) seen_.clear();  // full of nodes that are gone
    seen_[node] = found->slot;
  }
  return found;
}

ShardMember* Members::shard(NodeId node) { return find_node(shards, node); }

std::string Members::worker_name(NodeId node) const {
  const auto* member = find_node(workers, node);
  return member == nullptr ? to_string(node) : member->name;
}

std::uint32_t Members::worker_slot(const std::string& name) const {
  for (const auto& [slot, worker] : workers) {
    if (worker.name == name) return slot;
  }
  return lowest_free(workers);
}

std::optional<std::uint32_t> Members::shard_slot(const std::string& name, std::uint32_t limit) const {
  for (const auto& [slot, shard] : shards) {
    if (shard.name == name) return slot;
  }
  const std::uint32_t slot = lowest_free(shards);
  return slot < limit ? std::optional(slot) : std::nullopt;
}

std::vector<std::uint32_t> Members::working() const {
  std::vector<std::uint32_t> slots;
  for (const auto& [slot, worker] : workers) {
    if (worker.ready && worker.present) slots.push_back(slot);
  }
  return slots;
}

bool Members::all_shards_loaded(std::uint32_t wanted) const {
  return shards.size() == wanted &&
         std::ranges::all_of(shards, [](const auto& s) { return s.second.loaded; });
}

Version Members::lowest_version() const {
  Version lowest = UINT64_MAX;
  for (const auto& [slot, shard] : shards) lowest = std::min(lowest, shard.version);
  return shards.empty() ? 0 : lowest;
}

}  // namespace steelyard
