// One ZeroMQ socket with its monitor, and the conversion between frames and messages. Used by zmq.cpp alone.
#pragma once

#include <poll.h>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "core/time.h"
#include "protocol/codec.h"
#include "transport/reserved_port.h"

namespace steelyard {

// What travels over a socket decides its limits: control is small and must not be lost in a buffer at the
// end; bulk is large and worth nothing once its connection is gone.
enum class Traffic { control, bulk };

inline Traffic traffic_of(NodeId listener) {
  return listener.role == Role::shard ? Traffic::bulk : Traffic::control;
}
// Bytes of one frame that such a socket takes; a connection that announces more is closed. The scheduler is
// told less than it tells.
std::size_t largest_frame(bool listens, Traffic traffic);

// 24 bytes: role and number of the node that connects, a counter that is new for each of its sockets, and the
// number of the node that it connects to. Another process may listen at that node's endpoint by now.
using RoutingId = std::array<std::uint8_t, 24>;
RoutingId routing_id(NodeId node, std::uint64_t socket_number, NodeId peer);
std::uint64_t socket_number(const RoutingId& id);  // of one node, later ones are greater
std::uint64_t peer_number(const RoutingId& id);
// The scheduler connects to no node: nodes connect to it.
std::optional<NodeId> node_of(const void* routing_id, std::size_t size);

struct SocketEvent {
  std::uint16_t kind = 0;       // ZMQ_EVENT_...
  std::int32_t descriptor = 0;  // or, for some kinds, another number
};

class ZmqSocket {
 public:
  ZmqSocket(zmq::context_t& context, zmq::socket_type type, Traffic traffic);
  ~ZmqSocket();
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  zmq::socket_t& socket() { return socket_; }
  // Become readable when something comes that no call on the socket has met yet; see ZmqLink.
  [[nodiscard]] int data_descriptor() const { return socket_.get(zmq::sockopt::fd); }
  [[nodiscard]] int monitor_descriptor() const { return monitor_.get(zmq::sockopt::fd); }
  std::optional<SocketEvent> next_event();  // does not block
  std::vector<SocketEvent> events();        // all that are there

  // Set by the thread that sends and reads: a read found nothing, and nothing was sent since. Only then does
  // the data descriptor announce all that is to come.
  bool quiet = false;

 private:
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
};

// Sleeps until one of these is readable, or the deadline has passed: to the microsecond, for nudges
// (transport/nudges.h) are due after a millisecond. Returns how many are readable.
int poll_until(std::vector<pollfd>& watched, Time deadline);

// Listens; returns where. `port`: it was reserved before; null: it is bound now. Throws Failure
// (configuration).
std::string bind_to(zmq::socket_t& socket, const std::string& endpoint, ReservedPort* port);

// Before a socket connects to one of several places of a peer: what is sent while nobody is there is lost,
// and a peer that does not answer for two seconds is gone.
void tell_the_living(zmq::socket_t& socket);

// Sends header and payload (behind `identity`, for a ROUTER); false if the peer is unknown or takes no more.
bool send_frames(zmq::socket_t& socket, const RoutingId* identity, Frames frames);

struct Received {
  std::optional<NodeId> from;  // ROUTER only
  RoutingId identity{};        // ROUTER only
  int descriptor = -1;         // of the connection it came through; ROUTER only
  std::string key;             // of the peer; empty: plain text; ROUTER only
  zmq::message_t header;
  Blob payload;
  bool well_formed = false;
};
// The next message, or nothing if none is there.
std::optional<Received> receive_frames(zmq::socket_t& socket, bool router);

}  // namespace steelyard
