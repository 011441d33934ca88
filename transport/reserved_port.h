// ReservedPort: a TCP port that this process has bound without listening on it.
//
// A standby must own its port before it takes over, and must refuse connections until it leads. A bound port
// without a listener refuses connections, and no other program can take it.
//
// Owned by one thread. ZmqLink::listen() takes the descriptor.
#pragma once

#include <string>

#include "core/descriptor.h"

namespace steelyard {

class ReservedPort {
 public:
  // For a tcp endpoint; other transports (ipc) reserve nothing. Throws Failure (configuration) if the port
  // cannot be bound: endpoint, reason and remedy.
  explicit ReservedPort(const std::string& endpoint);

  // Starts to listen and gives the descriptor to the caller. Returns -1 if nothing was reserved; the caller
  // must bind then. Throws Failure (configuration).
  [[nodiscard]] int take();

 private:
  const std::string endpoint_;
  Descriptor socket_;
};

// Remedy for an endpoint that cannot be listened on, by errno value. Begins with "; ".
std::string listening_remedy(int error);

}  // namespace steelyard
