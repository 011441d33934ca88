// CURVE on sockets (zmq_curve(7)): both ends prove that they have the secret key of the public key that
// they are known by, and what travels is encrypted and authenticated with keys of that one connection. So a
// frame that was recorded is of no use in any other connection, and in its own it is out of order and
// refused.
#pragma once

#include <string>
#include <thread>
#include <zmq.hpp>

#include "core/descriptor.h"
#include "protocol/keys.h"
#include "transport/security/trust.h"

namespace steelyard {

// ZapHandler: answers libzmq whether a key is let in (ZAP, ZeroMQ RFC 27), for all listening sockets of one
// context. It answers at once with 200 and the key as the User-Id of the connection, or with 400, after which
// that client gives up. Another thread looks at the list four times a second: neither a flood of strangers
// nor a file system that hangs holds up the other.
//
// To be made before any socket of the context listens, and to go after all of them. Has two threads.
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

// Before the socket listens or connects. A listener asks for each key whether it is let in, and lets nobody
// in where nobody answers: libzmq itself would let everybody in. Throws Failure (configuration) if it
// cannot be told so.
inline constexpr const char* usual_domain = "steelyard";  // as the handler is told it
inline constexpr const char* trial_domain = "steelyard-trial";
void make_listener(zmq::socket_t& socket, const KeyPair& own, const char* domain = usual_domain);
void make_caller(zmq::socket_t& socket, const KeyPair& own, const std::string& key_of_listener);

// Tries it: somebody with a key that nobody knows comes to a listener of this context, and has to be refused.
// Throws Failure (configuration) if not.
void require_strangers_refused(zmq::context_t& context, const KeyPair& own);

}  // namespace steelyard
