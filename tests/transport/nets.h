// The kinds of transport behind one face, so that one test body runs on each.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "transport/link.h"

namespace steelyard::test {

class Net {
 public:
  virtual ~Net() = default;
  // A node that others can reach.
  virtual std::unique_ptr<Link> listener(NodeId node) = 0;
  // A node that is to speak to `peer`, which has been, or will again be, a listener.
  virtual std::unique_ptr<Link> caller(NodeId node, NodeId peer) = 0;
};

// "local", "tcp", "ipc", "shared": ipc where payloads are lent, or "keys": tcp, encrypted.
std::unique_ptr<Net> make_net(const std::string& kind);

// Why this kind cannot be tested in this build; empty if it can.
std::string unfit(const std::string& kind);

}  // namespace steelyard::test
