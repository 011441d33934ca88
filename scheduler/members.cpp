#include "scheduler/members.h"

#include <algorithm>

namespace steelyard {

void Members::add(WorkerMember worker) {
  found_ = nullptr;
  if (const auto former = workers.find(worker.slot); former != workers.end()) forget(former->second);
  slot_of_node_[worker.node] = worker.slot;
  slot_of_name_[worker.name] = worker.slot;
  workers.insert_or_assign(worker.slot, std::move(worker));
  while (workers.contains(first_free_)) ++first_free_;
}

void Members::forget(const WorkerMember& worker) {
  found_ = nullptr;
  // A node that gave itself two names is found in the slot that it asked for last.
  const auto node = slot_of_node_.find(worker.node);
  if (node != slot_of_node_.end() && node->second == worker.slot) slot_of_node_.erase(node);
  slot_of_name_.erase(worker.name);
  first_free_ = std::min(first_free_, worker.slot);
}

WorkerMember* Members::worker(NodeId node) {
  if (found_ != nullptr && found_->node == node) return found_;
  const auto slot = slot_of_node_.find(node);
  return slot == slot_of_node_.end() ? nullptr : found_ = &workers.at(slot->second);
}

ShardMember* Members::shard(NodeId node) {
  const auto it = std::ranges::find_if(shards, [&](const auto& entry) { return entry.second.node == node; });
  return it == shards.end() ? nullptr : &it->second;
}

std::string Members::worker_name(NodeId node) const {
  const auto found = slot_of_node_.find(node);
  return found == slot_of_node_.end() ? to_string(node) : workers.at(found->second).name;
}

std::uint32_t Members::worker_slot(const std::string& name) const {
  const auto found = slot_of_name_.find(name);
  return found == slot_of_name_.end() ? first_free_ : found->second;
}

std::optional<std::uint32_t> Members::shard_slot(const std::string& name, std::uint32_t limit) const {
  for (const auto& [slot, shard] : shards) {
    if (shard.name == name) return slot;
  }
  std::uint32_t slot = 0;
  while (shards.contains(slot)) ++slot;
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
