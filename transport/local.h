// Nodes of one process, connected by queues: the same machines without sockets, for tests, examples and
// benches.
//
// A LocalNetwork outlives its links. Each link is used by one thread; the network is thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/queue.h"
#include "transport/link.h"

namespace steelyard {

class LocalNetwork {
 public:
  // Adds a node. When its link is destroyed, every other node gets Disconnected{node}.
  std::unique_ptr<Link> join(NodeId node);

 private:
  friend class LocalLink;
  using Mail = BoundedQueue<Envelope>;

  void deliver(Envelope envelope);
  void leave(NodeId node);

  std::mutex mutex_;                              // protects the directory, not the queues
  std::map<NodeId, std::shared_ptr<Mail>> mail_;  // by node
};

}  // namespace steelyard
