// The network of a scenario: when a message arrives, and whether.
//
// The promises of a link are kept, and no more: per pair of nodes in order and at most once; what is under
// way on a connection that is cut does not arrive. Two ways to say how long it takes:
//
//   a fixed exchange   `step_ms` for pushes and reports of a training, nothing for anything else: a round
//                      takes its longest compute time + step_ms, exactly
//   links              `latency_ms` for every message; gradients and parameters, `model_mb` each way and
//                      round (less where pushes or pulls are coded), pass one after the other through the
//                      worker's link of `bandwidth_gbps` (0: at once), which both directions share: so a
//                      round takes its longest compute + both transfers + two latencies, into however
//                      many slices a model is cut. The slices of a push count as there when the last of
//                      them is: otherwise who pushed early would pull some of them while another still
//                      pushes, and who pushed last would seem to have the slower link. Servers and
//                      scheduler are never the bottleneck. A worker may have a link of its own.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "protocol/float_code.h"
#include "protocol/machine.h"

namespace steelyard::sim {

struct NetworkOptions {
  double step_ms = 0;
  double latency_ms = 0;
  double bandwidth_gbps = 0;
  double model_mb = 0;  // millions of bytes, as float32
  FloatCode push_encoding = FloatCode::float32, pull_encoding = FloatCode::float32;  // how they travel

  [[nodiscard]] double model_ms() const;     // one transfer of float32
  [[nodiscard]] double exchange_ms() const;  // what a round takes beside its computing
};

class Network {
 public:
  // Nodes with numbers below `centre` (scheduler, checkpointer, servers) talk to all; others to them, and
  // rarely among themselves. A model has `slices` slices of one size.
  Network(const NetworkOptions& options, std::uint64_t centre, std::uint64_t slices);

  // When a message that is sent now arrives, if it is so much later than it would be.
  Time arrival(Time now, const Envelope& envelope, Duration late = {});
  // How long a word takes that waits for no other.
  [[nodiscard]] Duration delay(const Envelope& envelope) const;
  // From now on this outer node's link has that latency and bandwidth; what it carries stays.
  void link(NodeId outer, double latency_ms, double bandwidth_gbps);
  // From now on what this outer node says and hears takes so many times as long.
  void slow(NodeId outer, double factor);

  // Breaks the connection of two nodes; stamps tell what was sent before.
  void cut(NodeId a, NodeId b);
  [[nodiscard]] std::uint32_t stamp(NodeId a, NodeId b) const;

 private:
  struct Connection {
    Time last_in, last_out;  // arrivals, so that order is kept
    std::uint32_t cuts = 0;
  };
  struct Passing {
    Time free;                // the link has passed on all
    Time said = Time::max();  // a push was said then,
    Time begun;               // and began to pass
  };
  struct Link {  // of an outer node
    double latency_ms = 0, slice_ms = 0;
    double slowdown = 1;
    Passing passing{};
  };
  Connection& connection(std::uint64_t outer, std::uint64_t inner);
  [[nodiscard]] double coded_slices(const Message& message) const;
  [[nodiscard]] Link link_of(const Envelope& envelope) const;

  const NetworkOptions options_;
  const std::uint64_t centre_;
  const std::uint64_t slices_;
  const Link usual_;
  bool ever_cut_ = false;
  std::vector<Link> links_;                                               // by number of the outer node
  std::vector<Connection> connections_;                                   // centre_ of them for each link
  std::map<std::pair<std::uint64_t, std::uint64_t>, Connection> others_;  // of two outer nodes
};

}  // namespace steelyard::sim
