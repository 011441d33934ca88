// SameProcess: links of one process that hand envelopes to each other by pointer, in order, without a socket.
// A worker and the shard that its process hosts thereby exchange values without copies, even values on a
// device. Neither connects to the other; with all other nodes they use sockets.
//
// Thread-safe. Links join it before they are used, and leave when they are destroyed.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "protocol/machine.h"

namespace steelyard {

class SameProcess {
 public:
  // Puts envelopes into the node's mailbox; called on any thread.
  using Post = std::function<void(std::vector<Envelope>)>;

  void join(NodeId node, Post post) {
    const std::lock_guard lock(mutex_);
    posts_[node] = std::move(post);
  }
  // All other nodes get Disconnected{node}.
  void leave(NodeId node) {
    const std::lock_guard lock(mutex_);
    if (posts_.erase(node) == 0) return;
    for (const auto& [other, post] : posts_) {
      if (auto notice = notice_for(other, Disconnected{node})) post({std::move(*notice)});
    }
  }
  [[nodiscard]] bool has(NodeId node) const {
    const std::lock_guard lock(mutex_);
    return posts_.contains(node);
  }
  // Returns false, without a change, if its receiver is not one of them.
  bool deliver(Envelope& envelope) const {
    const std::lock_guard lock(mutex_);
    const auto found = posts_.find(envelope.to);
    if (found == posts_.end()) return false;
    found->second({std::move(envelope)});
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::map<NodeId, Post> posts_;
};

}  // namespace steelyard
