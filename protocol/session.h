// A node's session with the scheduler: it sends Hello until it is welcomed, then heartbeats, and gives up
// after a timeout. Pure; part of the shard and worker machines.
//
// A node that hears nothing goes on sending heartbeats, also when the scheduler has given it up: the first
// one that gets through brings it back in.
#pragma once

#include <string>

#include "core/time.h"

namespace steelyard {

class Session {
 public:
  struct Timeouts {
    Duration wait = from_seconds(60);  // silence after which the scheduler is given up, joined or not
    Duration beat = from_seconds(0.5);
  };
  explicit Session(Timeouts timeout) : timeout_(timeout) {}

  // By a job with this heartbeat, whose scheduler calls others lost after `heartbeat_timeout`: its own
  // silence is borne for as long at least.
  void welcomed(Time now, Duration beat, Duration heartbeat_timeout);
  void heard(Time now) { last_heard_ = now; }
  [[nodiscard]] bool joined() const { return joined_; }

  // Whether Hello (before joining) or a beat (after) is due; asking makes it done.
  bool due(Time now);
  // Whether the scheduler has been silent for too long.
  [[nodiscard]] bool given_up(Time now) const;
  [[nodiscard]] Time deadline() const { return next_; }

 private:
  Timeouts timeout_;
  bool joined_ = false;
  bool started_ = false;
  Time last_heard_;
  Time next_;  // zero: at once
};

}  // namespace steelyard
