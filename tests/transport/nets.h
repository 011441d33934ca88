// The kinds of transport behind one interface, so that one test body runs on each.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "transport/link.h"

namespace steelyard::test {

class Net {
 public:
  virtual ~Net() = default;
  // A node that listens for others.
  virtual std::unique_ptr<Link> listener(NodeId node) = 0;
  // A node that connects to `peer`, which has been, or will again be, a listener.
  virtual std::unique_ptr<Link> caller(NodeId node, NodeId peer) = 0;
};

// "local", "tcp", "ipc", "shared" (ipc with payloads lent in shared memory) or "keys" (encrypted tcp).
std::unique_ptr<Net> make_net(const std::string& kind);

// Why this kind cannot be tested in this build; empty if it can.
std::string unfit(const std::string& kind);

}  // namespace steelyard::test
