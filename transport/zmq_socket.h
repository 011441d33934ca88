// One ZeroMQ socket with its monitor, and the conversion between frames and messages. Used by zmq.cpp only.
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

// The traffic of a socket determines its limits: control messages are small and must still be sent at
// shutdown; bulk is large and useless once its connection is gone.
enum class Traffic { control, bulk };

inline Traffic traffic_of(NodeId listener) {
  return listener.role == Role::shard ? Traffic::bulk : Traffic::control;
}
// Maximum bytes of a frame that such a socket accepts; a connection that announces more is closed. The
// scheduler receives shorter frames than it sends.
std::size_t largest_frame(bool listens, Traffic traffic);

// 24 bytes: role and number of the connecting node, a counter of its sockets, and the number of the node that
// it connects to, because another process may now listen at that node's endpoint.
using RoutingId = std::array<std::uint8_t, 24>;
RoutingId routing_id(NodeId node, std::uint64_t socket_number, NodeId peer);
std::uint64_t socket_number(const RoutingId& id);  // increases with each socket of a node
std::uint64_t peer_number(const RoutingId& id);
// The connecting node. It is never the scheduler, which connects to no node.
std::optional<NodeId> node_of(const void* routing_id, std::size_t size);

struct SocketEvent {
  std::uint16_t kind = 0;       // ZMQ_EVENT_...
  std::int32_t descriptor = 0;  // or another number, depending on the kind
};

class ZmqSocket {
 public:
  ZmqSocket(zmq::context_t& context, zmq::socket_type type, Traffic traffic);
  ~ZmqSocket();
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  zmq::socket_t& socket() { return socket_; }
  // Readable when a message arrives that no call on the socket has processed yet; see ZmqLink.
  [[nodiscard]] int data_descriptor() const { return socket_.get(zmq::sockopt::fd); }
  [[nodiscard]] int monitor_descriptor() const { return monitor_.get(zmq::sockopt::fd); }
  std::optional<SocketEvent> next_event();  // does not block
  std::vector<SocketEvent> events();        // all pending ones

  // Set by the thread that sends and reads: a read found nothing, and nothing was sent since. Only then does
  // the data descriptor announce every later message.
  bool quiet = false;

 private:
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
};

// Sleeps until one of these is readable or the deadline passes, with microsecond resolution, because nudges
// (transport/nudges.h) are due after a millisecond. Returns the number of readable ones.
int poll_until(std::vector<pollfd>& watched, Time deadline);

// Listens; returns the endpoint. `port`: reserved before; null: binds now. Throws Failure (configuration).
std::string bind_to(zmq::socket_t& socket, const std::string& endpoint, ReservedPort* port);

// Call before a socket connects to one of several places of a peer: messages sent without a connection are
// dropped, and a peer that does not answer for two seconds counts as lost.
void tell_the_living(zmq::socket_t& socket);

// Sends header and payload (after `identity`, for a ROUTER). Returns false if the peer is unknown or its
// queue is full.
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
// Returns the next message, or std::nullopt if none is available.
std::optional<Received> receive_frames(zmq::socket_t& socket, bool router);

}  // namespace steelyard
