// The time that a scenario's servers take (ServerTimes in sim/scenario.h).
//
// A server is one thread: it handles its messages one after the other, in order of arrival. It works for
// `push_ms` before it has added a push, and for `update_ms` after a step of the optimizer, before it sends
// its answers. docs/simulation.md has measured times.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/layout.h"
#include "protocol/job.h"
#include "sim/hosted.h"
#include "sim/scenario.h"

namespace steelyard::sim {

class ServerClock {
 public:
  // A server may be simulated as several shards of equal size (shards_of() in sim/scenario_run.cpp). They
  // work at the same time, and each takes as long as its server does for all of them.
  ServerClock(const ServerTimes& times, const Job& job, std::uint32_t servers);

  // Seconds that a shard needs before it has added this message; 0 if the message is not a push.
  [[nodiscard]] double seconds_before(const Envelope& in) const;
  // Seconds for the steps that this node has made since the last call; 0 if it is not a shard.
  [[nodiscard]] double seconds_after(const Hosted& node);

 private:
  [[nodiscard]] double share_of(const Slice& slice) const {
    return shards_per_server_ * static_cast<double>(slice.size()) / floats_;
  }

  const double push_s_, update_s_;
  const std::vector<Slice> slices_;
  const double floats_;  // of the model
  const double shards_per_server_;
  std::map<NodeId, double> stepped_;  // by shard: steps so far, each weighted by share_of() its slice
};

}  // namespace steelyard::sim
