// SameProcess: links of one process that hand envelopes to each other by pointer, in order, without a socket.
// A worker and the shard that its process hosts thereby exchange values without copies, even values on a
// device. Neither connects to the other; with all other nodes they use sockets.
//
// Thread-safe. Links join it before they are used, and leave when they are destroyed.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "transport/link.h"

namespace steelyard {

class SameProcess {
 public:
  // The link leaves before it is destroyed.
  void join(NodeId node, Link& link) {
    const std::lock_guard lock(mutex_);
    links_[node] = &link;
  }
  // All other nodes get Disconnected{node}.
  void leave(NodeId node) {
    const std::lock_guard lock(mutex_);
    if (links_.erase(node) == 0) return;
    for (const auto& [other, link] : links_) {
      if (auto notice = notice_for(other, Disconnected{node})) link->post({std::move(*notice)});
    }
  }
  [[nodiscard]] bool has(NodeId node) const {
    const std::lock_guard lock(mutex_);
    return links_.contains(node);
  }
  // Posts it to its receiver. Returns false, without a change, if that is not one of them.
  bool deliver(Envelope& envelope) const {
    const std::lock_guard lock(mutex_);
    const auto found = links_.find(envelope.to);
    if (found == links_.end()) return false;
    found->second->post({std::move(envelope)});
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::map<NodeId, Link*> links_;
};

}  // namespace steelyard
