// CURVE on sockets (zmq_curve(7)): both ends prove that they own the secret key of their public key. Messages
// are encrypted and authenticated with keys of that one connection, so a recorded frame is useless in any
// other connection, and out of order and therefore rejected in its own.
#pragma once

#include <string>
#include <thread>
#include <zmq.hpp>

#include "core/descriptor.h"
#include "protocol/keys.h"
#include "transport/security/trust.h"

namespace steelyard {

// ZapHandler: answers libzmq's requests whether to accept a key (ZAP, ZeroMQ RFC 27), for all listening
// sockets of a context. It answers at once: 200 with the key as the User-Id of the connection, or 400, after
// which that client gives up. A second thread checks the list four times a second, so neither a flood of
// unknown keys nor a file system that hangs delays the other.
//
// Create it before any socket of the context listens, and destroy it after all of them. Owns two threads.
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
  const Descriptor stop_;
  std::thread answering_, looking_;
};

// Call these before the socket listens or connects. A listener asks the handler about each key and accepts
// none if no handler answers; libzmq's default would accept all. Throws Failure (configuration) if libzmq
// cannot enforce that.
inline constexpr const char* usual_domain = "steelyard";  // the domain sent to the handler
inline constexpr const char* trial_domain = "steelyard-trial";
void make_listener(zmq::socket_t& socket, const KeyPair& own, const char* domain = usual_domain);
void make_caller(zmq::socket_t& socket, const KeyPair& own, const std::string& key_of_listener);

// Self-test: a client with an unknown key connects to a listener of this context and must be rejected. Throws
// Failure (configuration) if it is not.
void require_strangers_refused(zmq::context_t& context, const KeyPair& own);

}  // namespace steelyard
