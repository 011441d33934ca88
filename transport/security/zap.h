// ZapHandler: answers libzmq whether a key is let in (ZAP, ZeroMQ RFC 27), for all listening sockets of one
// context. It answers at once with 200 and the key as the User-Id of the connection, or with 400, after which
// that client gives up. Another thread looks at the list four times a second: neither a flood of strangers
// nor a file system that hangs holds up the other.
//
// To be made before any socket of the context listens, and to go after all of them. Has two threads.
#pragma once

#include <zmq.hpp>

#include <thread>

#include "transport/security/trust.h"

namespace steelyard {

class ZapHandler {
 public:
  ZapHandler(zmq::context_t& context, Trust& trust);
  ~ZapHandler();
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;

 private:
  void serve();
  void answer();
  void look_at_list();

  Trust& trust_;
  zmq::socket_t socket_;
  const int stop_;
  std::thread answering_, looking_;
};

}  // namespace steelyard
