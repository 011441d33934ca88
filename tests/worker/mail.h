// A queue for a compute node's messages in a test. Readings are left out: they come at any time while a node
// waits.
#pragma once

#include <utility>
#include <vector>

#include "core/queue.h"
#include "worker/compute/compute_node.h"

namespace steelyard {

class Mail : public BoundedQueue<ToWorker> {
 public:
  Mail() : BoundedQueue(1 << 16) {}
};

inline ComputeNode::Post post_to(Mail& mail) {
  return [&mail](std::vector<ToWorker> messages) {
    for (ToWorker& message : messages) {
      if (!std::holds_alternative<MachineReading>(message)) mail.push(std::move(message));
    }
  };
}

}  // namespace steelyard
