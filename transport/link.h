// Link: how one node's envelopes travel. Its guarantees, and no others:
//  - between two nodes, in order and at most once, while their connection lasts;
//  - any message may be lost with its node, or with its connection while both ends live; the loss of a
//    connection is reported as Disconnected{node}, machines must detect all other losses themselves;
//  - send() never blocks: messages that a stalled peer does not take are dropped.
// A link belongs to one thread; only post() is thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/machine.h"

namespace steelyard {

class Link {
 public:
  virtual ~Link() = default;

  // Connects and keeps retrying until disconnect(), which drops unsent messages. `endpoint` may list several
  // places, separated by commas; the peer is at the one that answers.
  virtual void connect(NodeId peer, const std::string& endpoint) = 0;
  virtual void disconnect(NodeId peer) = 0;
  virtual void send(Envelope envelope) = 0;
  // Returns the next envelope for this node, or std::nullopt at the deadline.
  virtual std::optional<Envelope> receive(Time deadline) = 0;
  // Puts envelopes into this node's own mailbox and wakes it once for all of them. Compute nodes answer, and
  // signals arrive, through it. Thread-safe.
  virtual void post(std::vector<Envelope> envelopes) = 0;
};

// Returns the function by which this worker's compute node answers: it posts to the link, which must outlive
// it.
inline std::function<void(std::vector<ToWorker>)> posting_to(Link& link, NodeId worker) {
  return [&link, worker](std::vector<ToWorker> messages) {
    std::vector<Envelope> envelopes;
    for (ToWorker& message : messages)
      envelopes.push_back({compute_node, worker, Message(std::move(message))});
    link.post(std::move(envelopes));
  };
}

}  // namespace steelyard
