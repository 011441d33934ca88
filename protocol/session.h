// A node's session with the scheduler: it sends Hello until it gets Welcome, then heartbeats, and gives up
// after a timeout. Pure; part of the shard and worker machines.
//
// A node without answers continues its heartbeats even if the scheduler has declared it lost: the first one
// that arrives readmits it.
#pragma once

#include <string>

#include "core/time.h"

namespace steelyard {

class Session {
 public:
  struct Timeouts {
    Duration wait = from_seconds(60);  // silence of the scheduler before the node gives up
    Duration beat = from_seconds(0.5);
  };
  explicit Session(Timeouts timeout) : timeout_(timeout) {}

  // Sets the timeouts by the job's heartbeat. The node waits for a silent scheduler at least
  // `heartbeat_timeout`, after which the scheduler declares nodes lost.
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
