// What a worker keeps of its contact with others: which shards answer it, and which reports may have been
// lost with a connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "protocol/machine.h"
#include "protocol/messages.h"
#include "worker/pull_rule.h"

namespace steelyard {

// Reach: which shards answer this worker.
//
// A worker can be in touch with the scheduler and still be cut off from a shard: a wrong --advertise, a
// firewall, a line that is down in one place, an allow-list that lacks its key. It takes part in the training
// only once every shard has answered it, and every mirror, which may be in a shard's place later. Those that
// stop answering are named in its heartbeats. Pure; part of the worker machine.
class Reach {
 public:
  // Whether this one is new: then every shard has to answer anew.
  bool adopt(const Roster& roster) {
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
  // Whether it was the last answer that was missing since adopt().
  bool answered(NodeId shard) {
    return std::erase(awaited_, shard) > 0 && awaited_.empty() && !std::exchange(ready_, true);
  }
  // It has not sent what it owes for too long, and has to answer again.
  void doubt(NodeId shard) {
    if (std::ranges::find(awaited_, shard) == awaited_.end()) awaited_.push_back(shard);
  }

  [[nodiscard]] std::uint64_t roster() const { return roster_; }  // Roster::number; 0: none yet
  [[nodiscard]] bool ready() const { return ready_; }             // every shard has answered since adopt()
  [[nodiscard]] const std::vector<NodeId>& awaited() const { return awaited_; }  // shards that are to answer

 private:
  std::uint64_t roster_ = 0;
  bool ready_ = false;
  std::vector<NodeId> awaited_;
};

// RecentReports: what a worker has reported last, to be said again when the connection to the scheduler was
// lost, and the report perhaps with it.
//
// A piece may be forgotten by then: its pushes were in, so the next version came. The scheduler would learn
// of the round's end from the shards alone, wait for the report in vain, and have no record of this part.
class RecentReports {
 public:
  static constexpr std::size_t kept = 32;

  void add(const Report& report) {
    reports_.push_back(report);
    if (reports_.size() > kept) reports_.pop_front();
  }
  // Those of pieces that are still held, however many, and the last of the others.
  void repeat(const std::vector<HeldPiece>& held, Outbox& out) const {
    const auto is_held = [&](const Report& it) {
      return std::ranges::find(held, it.piece.id, &HeldPiece::id) != held.end();
    };
    for (const Report& it : reports_) {
      if (!is_held(it)) out.send<ToScheduler>(scheduler_node, it);
    }
    for (const HeldPiece& piece : held) {
      if (piece.report) out.send<ToScheduler>(scheduler_node, *piece.report);
    }
  }

 private:
  std::deque<Report> reports_;  // oldest first
};

}  // namespace steelyard
