// A worker's record of its contacts: which shards and mirrors answer it, and which reports may have been lost
// with a connection.
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
// A worker can be connected to the scheduler and still be cut off from a shard: by a wrong --advertise, a
// firewall, a network failure, or an allow-list that lacks its key. So it sends Ready only after every shard
// has answered it, and every mirror, since a mirror may replace its shard later. Its heartbeats name shards
// that stopped answering. Pure; part of the worker machine.
class Reach {
 public:
  // Adopts a roster. Returns whether it is new: then every shard must answer again.
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
  // A shard has answered. Returns whether this was the last missing answer since adopt().
  bool answered(NodeId shard) {
    return std::erase(awaited_, shard) > 0 && awaited_.empty() && !std::exchange(ready_, true);
  }
  // The shard has not sent what it owes in time, and must answer again.
  void doubt(NodeId shard) {
    if (std::ranges::find(awaited_, shard) == awaited_.end()) awaited_.push_back(shard);
  }

  [[nodiscard]] std::uint64_t roster() const { return roster_; }  // Roster::number; 0: no roster yet
  [[nodiscard]] bool ready() const { return ready_; }             // every shard has answered since adopt()
  // Shards and mirrors that have not answered.
  [[nodiscard]] const std::vector<NodeId>& awaited() const { return awaited_; }

 private:
  std::uint64_t roster_ = 0;
  bool ready_ = false;
  std::vector<NodeId> awaited_;
};

// MirrorTrials: checks whether each mirror admits this worker, before the mirror is needed.
class MirrorTrials {
 public:
  // Connects to the mirrors of these shards, until they answer.
  void try_all(const std::vector<ShardPlace>& shards, Outbox& out) {
    const auto is_in = [&](NodeId node) {
      return std::ranges::any_of(shards,
                                 [&](const ShardPlace& it) { return it.node == node || it.mirror == node; });
    };
    for (const NodeId node : std::exchange(tried_, {})) {
      if (!is_in(node)) out.send<ToLink>(link_node, Disconnect{node});
    }
    for (const ShardPlace& shard : shards) {
      if (!shard.has_mirror()) continue;
      tried_.push_back(shard.mirror);
      out.send<ToLink>(link_node, Connect{shard.mirror, shard.mirror_endpoint});
    }
  }
  void answered(NodeId mirror, Outbox& out) {
    if (std::erase(tried_, mirror) > 0) out.send<ToLink>(link_node, Disconnect{mirror});
  }

 private:
  std::vector<NodeId> tried_;
};

// RecentReports: the worker's latest reports, resent if the connection to the scheduler was lost, since a
// report may have been lost with it.
//
// The worker may have dropped the piece by then: if its pushes arrived, so did the next version. Without the
// resent report, the scheduler would wait for it until its timeout and have no record of the piece.
class RecentReports {
 public:
  static constexpr std::size_t kept = 32;

  void add(const Report& report) {
    reports_.push_back(report);
    if (reports_.size() > kept) reports_.pop_front();
  }
  // Resends the reports of all pieces that are still held, and the last `kept` of the others.
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
