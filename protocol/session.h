// A node's session with the scheduler: when the node sends Hello (until it receives Welcome) and heartbeats,
// and when it gives up because the scheduler is silent. Pure; part of the shard and worker machines.
//
// A node that receives nothing continues its heartbeats. If the scheduler has declared it lost meanwhile, the
// first heartbeat that arrives readmits it.
#pragma once

#include <string>

#include "core/time.h"

namespace steelyard {

class Session {
 public:
  struct Timeouts {
    Duration wait = from_seconds(60);   // silence of the scheduler before the node gives up
    Duration beat = from_seconds(0.5);  // interval of Hello and heartbeats
  };
  explicit Session(Timeouts timeout) : timeout_(timeout) {}

  // The node has joined: sets the job's heartbeat interval. `wait` becomes at least `heartbeat_timeout`, the
  // silence after which the scheduler declares nodes lost.
  void welcomed(Time now, Duration beat, Duration heartbeat_timeout);
  void heard(Time now) { last_heard_ = now; }
  [[nodiscard]] bool joined() const { return joined_; }

  // Whether Hello (before joining) or a heartbeat (after) is due; a call marks it as sent.
  bool due(Time now);
  // Whether the scheduler has been silent for longer than the timeout.
  [[nodiscard]] bool given_up(Time now) const;
  [[nodiscard]] Time deadline() const { return next_; }

 private:
  Timeouts timeout_;
  bool joined_ = false;
  bool started_ = false;
  Time last_heard_;
  Time next_;  // zero: now
};

}  // namespace steelyard
