// The network of a scenario: when, and whether, a message arrives.
//
// It keeps exactly the guarantees of a link: messages between two nodes arrive in order and at most once;
// those on a connection that is cut do not arrive. Two models of transfer time:
//
//   a fixed exchange   `step_ms` for pushes and reports of a training, nothing for other messages: a round
//                      takes its longest compute time + step_ms, exactly
//   links              `latency_ms` for every message; gradients and parameters, `model_mb` each way and
//                      round (less if pushes or pulls are encoded), pass one after the other through the
//                      worker's link of `bandwidth_gbps` (0: unlimited), shared by both directions: so a
//                      round takes its longest compute + both transfers + two latencies, for any number of
//                      slices. All slices of a push arrive with the last of them; otherwise workers that push
//                      early would pull some slices while others still push, and the last to push would seem
//                      to have the slower link. The links of servers and scheduler are never the bottleneck.
//                      A worker may have its own link settings.
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
  FloatCode push_encoding = FloatCode::float32, pull_encoding = FloatCode::float32;

  [[nodiscard]] double model_ms() const;     // one transfer of float32
  [[nodiscard]] double exchange_ms() const;  // time of a round's exchange
};

class Network {
 public:
  // Nodes with numbers below `centre` (scheduler, checkpointer, servers) exchange messages with all nodes;
  // others with them, and rarely among themselves. A model has `slices` slices of one size.
  Network(const NetworkOptions& options, std::uint64_t centre, std::uint64_t slices);

  // The arrival time of a message sent now, with an additional delay `late`.
  Time arrival(Time now, const Envelope& envelope, Duration late = {});
  // The transfer time of a message that waits for no other.
  [[nodiscard]] Duration delay(const Envelope& envelope) const;
  // Changes the latency and bandwidth of this outer node's link from now on, but not for messages on it.
  void link(NodeId outer, double latency_ms, double bandwidth_gbps);
  // Multiplies the transfer time of this outer node's messages, both ways, by `factor` from now on.
  void slow(NodeId outer, double factor);

  // Breaks the connection of two nodes; a message with an older stamp was sent before the cut.
  void cut(NodeId a, NodeId b);
  [[nodiscard]] std::uint32_t stamp(NodeId a, NodeId b) const;

 private:
  struct Connection {
    Time last_in, last_out;  // arrivals, to keep the order
    std::uint32_t cuts = 0;
  };
  struct Passing {
    Time free;                // the link has transferred everything
    Time said = Time::max();  // time of the last push,
    Time begun;               // and begin of its transfer
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
  std::map<std::pair<std::uint64_t, std::uint64_t>, Connection> others_;  // between two outer nodes
};

}  // namespace steelyard::sim
