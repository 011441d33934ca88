#include "scheduler/members/members.h"

#include <algorithm>

namespace steelyard {
namespace {

template <class Member>
Member* of_node(std::map<std::uint32_t, Member>& members, NodeId node) {
  const auto it = std::ranges::find_if(members, [&](const auto& entry) { return entry.second.node == node; });
  return it == members.end() ? nullptr : &it->second;
}

}  // namespace

Members::ByNode::const_iterator Members::place(NodeId node) const {
  return std::ranges::lower_bound(by_node_, node, {}, &ByNode::value_type::first);
}

void Members::add(WorkerMember worker) {
  if (const auto former = workers.find(worker.slot); former != workers.end()) forget(former->second);
  slot_of_name_[worker.name] = worker.slot;
  reserved_.erase(worker.slot);
  WorkerMember& its = workers[worker.slot];
  its = std::move(worker);
  // A node that gave itself two names is found in the slot that it asked for last.
  const auto at = place(its.node);
  if (at == by_node_.end() || at->first != its.node) {
    by_node_.insert(at, {its.node, &its});
  } else {
    by_node_[static_cast<std::size_t>(at - by_node_.begin())].second = &its;
  }
  skip_taken();
}

void Members::skip_taken() {
  while (workers.contains(first_free_) || reserved_.contains(first_free_)) ++first_free_;
}

void Members::reserve(const std::vector<std::string>& names) {
  for (std::uint32_t slot = 0; slot < names.size(); ++slot) {
    if (names[slot].empty()) continue;
    reserved_[slot] = names[slot];
    slot_of_name_[names[slot]] = slot;
  }
  skip_taken();
}

std::vector<std::string> Members::names() const {
  std::vector<std::string> names;
  for (const auto& [name, slot] : slot_of_name_) {
    names.resize(std::max<std::size_t>(names.size(), slot + 1));
    names[slot] = name;
  }
  return names;
}

void Members::forget(const WorkerMember& worker) {
  const auto at = place(worker.node);
  if (at != by_node_.end() && at->second == &worker) by_node_.erase(at);
  slot_of_name_.erase(worker.name);
  first_free_ = std::min(first_free_, worker.slot);
}

void Members::hear_all(Time now) {
  for (auto& [slot, worker] : workers) {
    worker.last_heard = now;
    worker.doubtful = true;
    worker.contest.reset();
    worker.headway.interrupted(now);
  }
  for (auto& [slot, shard] : shards) {
    shard.last_heard = now;
    shard.doubtful = true;
  }
  for (auto& [slot, mirror] : mirrors) mirror.last_heard = now;
}

void Members::doubt(NodeId node) {
  if (WorkerMember* its = worker(node)) its->doubtful = true;
  if (ShardMember* its = shard(node)) its->doubtful = true;
}

bool Members::is_doubtful(NodeId node) {
  if (const WorkerMember* its = worker(node)) return its->doubtful;
  const ShardMember* its = shard(node);
  return its != nullptr && its->doubtful;
}

const WorkerMember* Members::worker(NodeId node) const {
  const auto at = place(node);
  return at != by_node_.end() && at->first == node ? at->second : nullptr;
}

ShardMember* Members::shard(NodeId node) { return of_node(shards, node); }

MirrorMember* Members::mirror(NodeId node) { return of_node(mirrors, node); }

std::string Members::worker_name(NodeId node) const {
  const WorkerMember* its = worker(node);
  return its == nullptr ? to_string(node) : its->name;
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
    if (worker.working()) slots.push_back(slot);
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

Staleness Members::staleness() const {
  Staleness sum;
  for (const auto& [slot, shard] : shards) {
    const Staleness& counts = shard.staleness;
    sum.resize(std::max(sum.size(), std::min(counts.size(), staleness_places)));
    for (std::size_t i = 0; i < std::min(counts.size(), sum.size()); ++i) sum[i] += counts[i];
  }
  return sum;
}

}  // namespace steelyard
