#include "scheduler/members/load_monitor.h"

#include "protocol/keys.h"

#include <algorithm>

namespace steelyard {
namespace {

constexpr Duration first_percentage = std::chrono::seconds(5);

std::string minutes_or_seconds(Duration duration) {
  const auto s = std::chrono::floor<std::chrono::seconds>(duration).count();
  return s < 120 ? std::to_string(s) + " s" : std::to_string(s / 60) + " minutes";
}

std::string remedy(const std::string& name) {
  return "check --advertise of '" + name + "', and the network and firewalls between the two machines";
}

}  // namespace

void LoadMonitor::heard(Time now, const CheckpointerBeat& beat) {
  checkpointer_heard_ = now;
  beat_ = beat;
}

std::vector<std::string> LoadMonitor::loading(Time now, const Members& members) {
  std::uint64_t arrived = 0, all = 0;
  for (const auto& [slot, shard] : members.shards) {
    arrived += shard.parts;
    all += shard.parts_in_all;
    if (shard.loaded) {
      arrivals_.erase(shard.node);
      continue;
    }
    Arrival& arrival = arrivals_.try_emplace(shard.node, Arrival{shard.parts, now}).first->second;
    if (arrival.parts != shard.parts) arrival = {shard.parts, now};
  }
  if (all == 0 || !progress_.due(now, first_percentage)) return {};
  return {"sending the initial state to " + std::to_string(members.shards.size()) +
          (members.shards.size() == 1 ? " server: " : " servers: ") + std::to_string(100 * arrived / all) +
          " % after " + minutes_or_seconds(progress_.lasted(now))};
}

std::vector<std::string> LoadMonitor::unreached(Time now, const Members& members) {
  std::vector<std::string> due;
  std::erase_if(unreached_, [&](const auto& it) {
    return std::ranges::find(beat_.silent, it.first, &SilentShard::node) == beat_.silent.end();
  });
  for (const SilentShard& silent : beat_.silent) {
    const auto member =
        std::ranges::find_if(members.shards, [&](const auto& it) { return it.second.node == silent.node; });
    // The checkpointer has already waited for some seconds before it reported the server.
    if (member == members.shards.end() || !unreached_[silent.node].due(now, first_word / 2)) continue;
    const ShardMember& shard = member->second;
    due.push_back("server '" + shard.name + "' at " + split_key(shard.endpoint).address +
                  " does not answer the scheduler's machine, so its part of the model is not loaded or "
                  "saved: " +
                  (silent.why.empty() ? remedy(shard.name) : silent.why));
  }
  return due;
}

std::vector<std::string> LoadMonitor::storage(Time now, bool saving) {
  if (!saving || !checkpointer_heard_ || now - *checkpointer_heard_ < first_word) {
    storage_ = {};
    return {};
  }
  if (!storage_.due(now, Duration{})) return {};
  storage_.not_before(now - *checkpointer_heard_);
  return {"the storage of the run directory has not answered for " +
          minutes_or_seconds(now - *checkpointer_heard_) + ": no checkpoint is written until it does"};
}

std::optional<std::string> LoadMonitor::cannot_load(Time now, const Members& members) const {
  for (const auto& [slot, shard] : members.shards) {
    const auto arrival = arrivals_.find(shard.node);
    if (arrival == arrivals_.end() || now - arrival->second.moved < given_up) continue;
    return "server '" + shard.name + "' at " + split_key(shard.endpoint).address +
           " has received nothing of its part of the model for " +
           minutes_or_seconds(now - arrival->second.moved) + ": " + remedy(shard.name);
  }
  return std::nullopt;
}

std::optional<std::string> LoadMonitor::cannot_save(Time now) const {
  if (!checkpointer_heard_ || now - *checkpointer_heard_ < given_up) return std::nullopt;
  return "the storage of the run directory has not answered for " +
         minutes_or_seconds(now - *checkpointer_heard_);
}

}  // namespace steelyard
