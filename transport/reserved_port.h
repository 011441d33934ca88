// ReservedPort: a TCP port that this process holds without listening on it.
//
// A standby has to be sure of its port before it is needed, and must not be connected to before it leads. A
// port that is bound and not listened on refuses connections, and no other program can take it.
//
// Owned by one thread. ZmqLink::listen() takes the descriptor.
#pragma once

#include <string>

#include "core/descriptor.h"

namespace steelyard {

class ReservedPort {
 public:
  // Of a tcp endpoint; one of another kind (ipc) needs none. Throws Failure (configuration) if the port
  // cannot be had: it names the endpoint, the reason and what to do.
  explicit ReservedPort(const std::string& endpoint);

  // Begins to listen. The caller owns the descriptor from here on; -1: there is none, the endpoint has to be
  // bound. Throws Failure (configuration).
  [[nodiscard]] int take();

 private:
  const std::string endpoint_;
  Descriptor socket_;
};

// What to do about an endpoint that cannot be listened on; `error` as errno has it. Begins with "; ".
std::string listening_remedy(int error);

}  // namespace steelyard
