#include "scheduler/members/members.h"

#include <algorithm>
#include <cmath>

namespace steelyard {
namespace {

// Limits on the standstill of a worker that gets answers from all shards. The first read of the data, or one
// micro-batch of a large model on a slow processor, may take longer than the heartbeat timeout.
constexpr int patient = 6;    // times the silence after which a member is lost
constexpr int exceeding = 4;  // times the longest standstill that ended without intervention

// The machine becomes full if the free part is below the first number, the minimum that background workers
// use, and has room again above the second.
constexpr double nothing = 0.05, enough = 0.15;
constexpr double much_less = 0.8;  // times the free part before; smaller changes are noise
constexpr Duration full_for = std::chrono::seconds(2);
// If a worker has to leave again within `soon`, it needs room for twice as long before its next share.
constexpr Duration first_trial = std::chrono::seconds(3), longest_trial = std::chrono::minutes(5),
                   soon = std::chrono::minutes(1);

constexpr double most_memory = 1e12;  // MB; a reading above this is meaningless

template <class Member>
Member* of_node(std::map<std::uint32_t, Member>& members, NodeId node) {
  const auto it = std::ranges::find_if(members, [&](const auto& entry) { return entry.second.node == node; });
  return it == members.end() ? nullptr : &it->second;
}

}  // namespace

MachineReading plausible(const MachineReading& told) {
  const auto known = [](double value, double most) { return value >= 0 && value <= most; };  // false for NaN
  return {known(told.cpu, 1) ? told.cpu : -1, known(told.memory, most_memory) ? told.memory : -1};
}

void WorkerProgress::heard(Time now, const WorkerBeat& beat) {
  if (beat.held.empty()) {
    moved_ = now;
  } else if (beat.progress != progress_) {
    if (moved_ != Time{}) longest_ = std::max(longest_, now - moved_);
    moved_ = now;
  }
  progress_ = beat.progress;
  unreached_ = beat.unreached;
  if (unreached_.empty()) {
    cut_off_since_.reset();
  } else if (!cut_off_since_) {
    cut_off_since_ = now;
  }
}

void WorkerProgress::interrupted(Time now) {
  moved_ = now;
  if (cut_off_since_) cut_off_since_ = now;
}

bool WorkerProgress::too_long(Duration standstill, Time now, Duration dead) const {
  if (cut_off(now) > dead) return standstill > dead;
  return standstill > std::max<Duration>(patient * dead, exceeding * longest_);
}

void Room::heard(Time now, double left) {
  left_ = left >= 0 && left <= 1 ? left : -1;
  const bool is_full = known() && (full_ ? left_ < enough : left_ < nothing);
  if (is_full != full_) since_ = now;
  full_ = is_full;
  sum_ += std::max(0.0, left_);
  ++count_;
}

void Room::did(std::uint64_t positions) {
  if (!known()) return;
  done_ = std::max(positions, done_ / 2);
  then_ = count_ > 0 ? sum_ / count_ : left_;
  sum_ = count_ = 0;
}

bool Room::full(Time now) const { return full_ && now - since_ > full_for; }

bool Room::is_back(Time now) const {
  return out_ && (!known() || (!full_ && now - std::max(since_, moved_) > trial_));
}

void Room::leave(Time now) {
  const bool again = trial_ > Duration{} && now - moved_ < soon;
  trial_ = again ? std::min(2 * trial_, longest_trial) : first_trial;
  out_ = true;
  moved_ = now;
}

void Room::come_back(Time now) {
  out_ = false;
  moved_ = now;
}

std::uint64_t Room::most(std::uint64_t equal_part) const {
  if (!known() || left_ >= much_less * then_) return UINT64_MAX;
  const auto did = static_cast<double>(done_ > 0 ? done_ : equal_part);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(did * left_ / then_)));
}

Members::ByNode::const_iterator Members::place(NodeId node) const {
  return std::ranges::lower_bound(by_node_, node, {}, &ByNode::value_type::first);
}

void Members::add(WorkerMember worker) {
  if (const auto former = workers.find(worker.slot); former != workers.end()) forget(former->second);
  slot_of_name_[worker.name] = worker.slot;
  reserved_.erase(worker.slot);
  WorkerMember& its = workers[worker.slot];
  its = std::move(worker);
  // A node that has sent two names is found in the slot that it requested last.
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
    worker.progress.interrupted(now);
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

bool Members::anybody_works(std::optional<std::uint32_t> besides) const {
  return std::ranges::any_of(workers,
                             [&](const auto& it) { return it.second.working() && besides != it.first; });
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

bool rest(Members& members, std::uint32_t slot, Round round) {
  const auto worker = members.workers.find(slot);
  if (worker == members.workers.end()) return false;
  if (!members.anybody_works(slot)) return false;
  worker->second.rests_until = round + 1 + rest_rounds;
  return true;
}

void end_rests(Members& members, Round round) {
  for (auto& [slot, worker] : members.workers) {
    if (worker.rests_until && *worker.rests_until <= round) worker.rests_until.reset();
  }
}

bool end_rests_if_nobody_works(Time now, Members& members) {
  if (members.anybody_works()) return false;
  bool any = false;
  for (auto& [slot, worker] : members.workers) {
    any = any || worker.rests_until || worker.room.out();
    worker.rests_until.reset();
    if (worker.room.out()) worker.room.come_back(now);
  }
  return any;
}

}  // namespace steelyard
