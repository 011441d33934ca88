// Link: how one node's envelopes travel. The promises (and no more than these):
//  - between two nodes, in order and at most once, as long as their connection lives;
//  - anything may vanish with its node, or with its connection while both ends live; the loss of a connection
//    is told as Disconnected{node}, everything else has to be noticed by the machines themselves;
//  - send() never blocks: what a stalled peer does not take is dropped.
// A link belongs to one thread; only post() may be called from others.
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

  // Outwards; keeps trying until disconnect(), which drops what has not left. Of several endpoints, with
  // commas between them, the peer is at the one that answers.
  virtual void connect(NodeId peer, const std::string& endpoint) = 0;
  virtual void disconnect(NodeId peer) = 0;
  virtual void send(Envelope envelope) = 0;
  // The next envelope for this node, or nothing once the deadline has passed.
  virtual std::optional<Envelope> receive(Time deadline) = 0;
  // Puts envelopes into this node's own mail, and wakes it once for all of them: compute nodes answer so, and
  // signals arrive so. Any thread.
  virtual void post(std::vector<Envelope> envelopes) = 0;
};

// How the compute node of this worker answers: by its mail. The link outlives the function.
inline std::function<void(std::vector<ToWorker>)> posting_to(Link& link, NodeId worker) {
  return [&link, worker](std::vector<ToWorker> messages) {
    std::vector<Envelope> envelopes;
    for (ToWorker& message : messages)
      envelopes.push_back({compute_node, worker, Message(std::move(message))});
    link.post(std::move(envelopes));
  };
}

}  // namespace steelyard
