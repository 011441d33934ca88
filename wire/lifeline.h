// A node's relation to the scheduler, as seen from the node: says Hello until it is welcomed, then gives
// signs of life, and knows when to give up. Pure; part of the shard and worker machines.
//
// Who hears nothing for longer than the scheduler waits before it calls somebody lost goes on giving signs of
// life all the same: when the line is back, the first of them brings it back in.
#pragma once

#include <string>

#include "core/time.h"

namespace steelyard {

class Lifeline {
 public:
  struct Patience {
    Duration wait = from_seconds(60);  // silence after which the scheduler is given up, joined or not
    Duration beat = from_seconds(0.5);
  };
  explicit Lifeline(Patience patience) : patience_(patience) {}

  // By a job with this heartbeat, whose scheduler calls others lost after `dead_after`: its own silence is
  // borne for as long at least.
  void welcomed(Time now, Duration beat, Duration dead_after);
  void heard(Time now) { last_heard_ = now; }
  [[nodiscard]] bool joined() const { return joined_; }

  // Whether Hello (before joining) or a beat (after) is due; asking makes it done.
  bool due(Time now);
  // Whether the scheduler has been silent for too long.
  [[nodiscard]] bool given_up(Time now) const;
  [[nodiscard]] Time deadline() const { return next_; }

 private:
  Patience patience_;
  bool joined_ = false;
  bool started_ = false;
  Time last_heard_;
  Time next_;  // zero: at once
};

}  // namespace steelyard
