// Denied: nodes that this process cannot connect to for good reasons - their allow-list or ours, another key
// than is expected, keys at one end only. Each is tried again once a second, for lists are mended while a job
// runs.
//
// One thread, the link's. Is told the time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/time.h"
#include "protocol/node.h"

namespace steelyard {

class Denied {
 public:
  // An attempt has failed. Whether that, or the reason, is new.
  bool add(NodeId node, const std::string& endpoint, const std::string& why, Time now);
  // It is connected now, or nobody wants it to be any more. Whether it was denied until now.
  bool remove(NodeId node) { return nodes_.erase(node) > 0; }
  [[nodiscard]] bool has(NodeId node, const std::string& endpoint) const;

  struct Trial {
    NodeId node;
    std::string endpoint;
  };
  // Those whose turn it is, which is over then.
  std::vector<Trial> due(Time now);
  [[nodiscard]] Time deadline() const;  // of the next turn

  [[nodiscard]] std::uint64_t times() const { return times_; }  // that an attempt has failed, in all

 private:
  struct Reason {
    std::string endpoint, why;
    Time again;
  };
  std::map<NodeId, Reason> nodes_;
  std::uint64_t times_ = 0;
};

}  // namespace steelyard
