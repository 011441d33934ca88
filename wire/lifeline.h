// A node's relation to the scheduler, as seen from the node: says Hello until it is welcomed, then gives
// signs of life, and knows when to give up. Pure; part of the shard and worker machines.
#pragma once

#include <string>

#include "core/time.h"

namespace steelyard {

class Lifeline {
 public:
  struct Patience {
    Duration join = from_seconds(60);  // for the scheduler to answer at all
    Duration beat = from_seconds(0.5);
    Duration dead = from_seconds(10);  // silence after which the scheduler is given up
  };
  explicit Lifeline(Patience patience) : patience_(patience) {}

  void welcomed(Time now, Patience patience);
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
