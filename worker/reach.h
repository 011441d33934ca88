// Reach: which shards answer this worker.
//
// A worker can be in touch with the scheduler and still be cut off from a shard: a wrong --advertise, a
// firewall, a line that is down in one place, an allow-list that lacks its key. It takes part in the training
// only once every shard has answered it, and every mirror, which may be in a shard's place later. Those that
// stop answering are named in its heartbeats. Pure; part of the worker machine.
#pragma once

#include <vector>

#include "protocol/messages.h"

namespace steelyard {

class Reach {
 public:
  // Whether this one is new: then every shard has to answer anew.
  bool adopt(const Roster& roster);
  // Whether it was the last answer that was missing since adopt().
  bool answered(NodeId shard);
  // It has not sent what it owes for too long, and has to answer again.
  void doubt(NodeId shard);

  [[nodiscard]] std::uint64_t roster() const { return roster_; }  // Roster::number; 0: none yet
  [[nodiscard]] bool ready() const { return ready_; }             // every shard has answered since adopt()
  [[nodiscard]] const std::vector<NodeId>& awaited() const { return awaited_; }  // shards that are to answer

 private:
  std::uint64_t roster_ = 0;
  bool ready_ = false;
  std::vector<NodeId> awaited_;
};

}  // namespace steelyard
