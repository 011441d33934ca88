// CURVE on sockets (zmq_curve(7)): both ends prove that they have the secret key of the public key that
// they are known by, and what travels is encrypted and authenticated with keys of that one connection. So a
// frame that was recorded is of no use in any other connection, and in its own it is out of order and
// refused.
#pragma once

#include <zmq.hpp>

#include <string>

#include "protocol/keys.h"

namespace steelyard {

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
