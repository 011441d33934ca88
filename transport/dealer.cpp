#include "transport/dealer.h"

#include <cerrno>

#include "core/error.h"
#include "protocol/keys.h"
#include "transport/address.h"
#include "transport/security/curve.h"

namespace steelyard {

Dealer::Line open_line(zmq::context_t& context, const Trust* trust, const KnownKeys& keys,
                       const Call& call) try {
  const KeyedEndpoint there = split_key(call.place);
  auto socket = std::make_unique<ZmqSocket>(context, zmq::socket_type::dealer, call.traffic);
  socket->socket().set(zmq::sockopt::routing_id, zmq::const_buffer(call.self.data(), call.self.size()));
  socket->socket().set(zmq::sockopt::ipv6, by_ipv6(there.address));
  const std::string key = keys.key_of(there);
  if (!key.empty()) make_caller(socket->socket(), trust->own(), key);
  if (call.one_of_several) tell_the_living(socket->socket());
  socket->socket().connect(there.address);
  return {call.place, std::move(socket), key};
} catch (const zmq::error_t& error) {
  refuse_setup("cannot connect to " + call.place + ": " + error.what() +
               (error.num() == EMFILE ? "; raise the limit of open files (ulimit -n)"
                                      : "; expected tcp://host:port or ipc://path"));
}

}  // namespace steelyard
