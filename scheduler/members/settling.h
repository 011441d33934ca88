// Settling: lost connections in the first second after the scheduler's process was replaced, was stopped, or
// was cut off from all members.
//
// Members connect again by themselves, and may do so twice: the transport first, the machine behind it a
// moment later, which closes what the transport had opened. Such an end says nothing of its member. So
// whoever is lost in that second is judged when it is over: gone is who has not been heard since.
#pragma once

#include <chrono>
#include <set>
#include <vector>

#include "core/time.h"
#include "protocol/node.h"

namespace steelyard {

class Settling {
 public:
  static constexpr Duration lasts = std::chrono::seconds(1);

  void begin(Time now) { until_ = now + lasts; }
  // Whether the loss of this node's connection is judged later.
  bool defers(Time now, NodeId node) {
    if (now >= until_) return false;
    lost_.insert(node);
    return true;
  }
  void heard(NodeId node) {
    if (!lost_.empty()) lost_.erase(node);
  }
  // When it is over: who has not been heard again. Once.
  std::vector<NodeId> gone(Time now) {
    if (now < until_) return {};
    const std::vector<NodeId> nodes(lost_.begin(), lost_.end());
    lost_.clear();
    return nodes;
  }

 private:
  friend struct SchedulerFields;
  Time until_{};
  std::set<NodeId> lost_;
};

}  // namespace steelyard
