#include "transport/zmq_socket.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <zmq.hpp>

#include "core/check.h"
#include "core/error.h"
#include "protocol/limits.h"
#include "transport/address.h"
#include "transport/security/curve.h"
#include "transport/security/trust.h"

namespace steelyard {

namespace {

// The other process's I/O thread answers heartbeats however busy its other threads are. If it does not for
// `dead` ms, the process is stopped, cut off or gone, and libzmq closes the connection.
void ask_for_life(zmq::socket_t& socket, int every, int dead) {
  socket.set(zmq::sockopt::heartbeat_ivl, every);
  socket.set(zmq::sockopt::heartbeat_timeout, dead);
}

// Limits and keep-alive; reasons: docs/protocol.md, "Sockets".
void configure(zmq::socket_t& socket, zmq::socket_type type, Traffic traffic) {
  const bool bulk = traffic == Traffic::bulk;
  socket.set(zmq::sockopt::linger, bulk ? 0 : 1000);
  // A queued bulk message is a reference to a blob that is kept anyway, so their number is not limited.
  socket.set(zmq::sockopt::sndhwm, bulk ? 0 : 4096);
  socket.set(zmq::sockopt::rcvhwm, bulk ? 2 : 0);
  socket.set(zmq::sockopt::maxmsgsize,
             static_cast<std::int64_t>(largest_frame(type == zmq::socket_type::router, traffic)));
  socket.set(zmq::sockopt::handshake_ivl, 3000);
  socket.set(zmq::sockopt::connect_timeout, 1000);
  socket.set(zmq::sockopt::reconnect_ivl, bulk ? 100 : 50);
  socket.set(zmq::sockopt::reconnect_ivl_max, bulk ? 1000 : 200);
  socket.set(zmq::sockopt::backlog, 4096);
  socket.set(zmq::sockopt::tcp_keepalive, 1);
  socket.set(zmq::sockopt::tcp_keepalive_idle, 10);
  socket.set(zmq::sockopt::tcp_keepalive_intvl, 5);
  socket.set(zmq::sockopt::tcp_keepalive_cnt, 3);
  if (!bulk) ask_for_life(socket, 1000, 5000);
  if (type == zmq::socket_type::router) socket.set(zmq::sockopt::router_mandatory, true);
}

// libzmq frees a payload by dropping the reference passed to it.
void release_blob(void*, void* hint) { delete static_cast<Blob*>(hint); }

}  // namespace

std::string bind_to(zmq::socket_t& socket, const std::string& endpoint, ReservedPort* port) try {
  socket.set(zmq::sockopt::ipv6, by_ipv6(endpoint));  // a socket bound to [::] is also reachable over IPv4
  const int reserved = port == nullptr ? -1 : port->take();
  if (reserved >= 0) socket.set(zmq::sockopt::use_fd, reserved);
  socket.bind(endpoint);
  return socket.get(zmq::sockopt::last_endpoint);
} catch (const zmq::error_t& error) {
  refuse_setup("cannot listen on " + endpoint + ": " + error.what() + listening_remedy(error.num()));
}

std::size_t largest_frame(bool listens, Traffic traffic) {
  constexpr std::size_t besides = 4096;  // encryption overhead
  if (traffic == Traffic::bulk) return (4 << 20) + besides;
  return (listens ? limits::to_scheduler : largest_header) + besides;
}

void tell_the_living(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::immediate, 1);
  ask_for_life(socket, 500, 2000);
}

RoutingId routing_id(NodeId node, std::uint64_t socket_number, NodeId peer) {
  RoutingId id{};
  // ids that begin with zero are reserved for ZeroMQ
  id[0] = static_cast<std::uint8_t>('A' + static_cast<int>(node.role));
  std::memcpy(&id[1], &node.number, 8);
  std::memcpy(&id[9], &socket_number, 7);
  std::memcpy(&id[16], &peer.number, 8);
  return id;
}

std::uint64_t socket_number(const RoutingId& id) {
  std::uint64_t number = 0;
  std::memcpy(&number, &id[9], 7);
  return number;
}

std::uint64_t peer_number(const RoutingId& id) {
  std::uint64_t number = 0;
  std::memcpy(&number, &id[16], 8);
  return number;
}

std::optional<NodeId> node_of(const void* routing_id, std::size_t size) {
  if (size != sizeof(RoutingId)) return std::nullopt;
  const auto* bytes = static_cast<const std::uint8_t*>(routing_id);
  const int role = bytes[0] - 'A';
  if (role <= static_cast<int>(Role::scheduler) || role > static_cast<int>(Role::standby))
    return std::nullopt;
  NodeId node{static_cast<Role>(role), 0};
  std::memcpy(&node.number, bytes + 1, 8);
  return node;
}

ZmqSocket::ZmqSocket(zmq::context_t& context, zmq::socket_type type, Traffic traffic)
    : socket_(context, type), monitor_(context, zmq::socket_type::pair) {
  static std::atomic<unsigned> next{0};
  configure(socket_, type, traffic);
  const std::string name = "inproc://monitor-" + std::to_string(next++);
  zmq_socket_monitor(socket_.handle(), name.c_str(),
                     ZMQ_EVENT_CONNECTED | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED |
                         ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                         ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
  monitor_.set(zmq::sockopt::linger, 0);
  monitor_.connect(name);
  // libzmq wakes a reader only after a read that found nothing.
  (void)next_event();
}

ZmqSocket::~ZmqSocket() { zmq_socket_monitor(socket_.handle(), nullptr, 0); }

std::optional<SocketEvent> ZmqSocket::next_event() {
  zmq::message_t event, address;
  if (!monitor_.recv(event, zmq::recv_flags::dontwait)) return std::nullopt;
  if (event.more()) (void)monitor_.recv(address, zmq::recv_flags::dontwait);
  SocketEvent it;
  if (event.size() >= 6) {
    std::memcpy(&it.kind, event.data<char>(), 2);
    std::memcpy(&it.descriptor, event.data<char>() + 2, 4);
  }
  return it;
}

std::vector<SocketEvent> ZmqSocket::events() {
  std::vector<SocketEvent> all;
  while (const auto event = next_event()) all.push_back(*event);
  return all;
}

int poll_until(std::vector<pollfd>& watched, Time deadline) {
  if (deadline == Time::max()) return ppoll(watched.data(), watched.size(), nullptr, nullptr);
  const Duration left = std::max(deadline - steady_now(), Duration::zero());
  const timespec span{left / std::chrono::seconds(1), (left % std::chrono::seconds(1)).count()};
  return ppoll(watched.data(), watched.size(), &span, nullptr);
}

bool send_frames(zmq::socket_t& socket, const RoutingId* identity, Frames frames) {
  using zmq::send_flags;
  try {
    if (identity != nullptr) {
      zmq::message_t to(identity->data(), identity->size());
      if (!socket.send(to, send_flags::sndmore | send_flags::dontwait)) return false;
    }
    zmq::message_t header(frames.header.data(), frames.header.size());
    if (!frames.payload) return socket.send(header, send_flags::dontwait).has_value();
    if (!socket.send(header, send_flags::sndmore | send_flags::dontwait)) return false;
    auto* owned = new Blob(std::move(*frames.payload));
    auto* bytes = const_cast<std::byte*>(owned->bytes().data());  // libzmq only reads them
    zmq::message_t payload(bytes, owned->size(), release_blob, owned);
    return socket.send(payload, send_flags::dontwait).has_value();
  } catch (const zmq::error_t&) {
    return false;  // the peer disconnected between two frames
  }
}

std::optional<Received> receive_frames(zmq::socket_t& socket, bool router) {
  Received got;
  zmq::message_t frame;
  if (router) {
    if (!socket.recv(frame, zmq::recv_flags::dontwait)) return std::nullopt;
    got.from = node_of(frame.data(), frame.size());
    if (got.from) std::memcpy(got.identity.data(), frame.data(), frame.size());
    if (!frame.more() || !socket.recv(got.header, zmq::recv_flags::dontwait)) return got;
    got.descriptor = zmq_msg_get(got.header.handle(), ZMQ_SRCFD);
    if (const char* key = zmq_msg_gets(got.header.handle(), "User-Id")) got.key = key;
  } else if (!socket.recv(got.header, zmq::recv_flags::dontwait)) {
    return std::nullopt;
  }
  got.well_formed = !router || got.from.has_value();
  if (!got.header.more()) return got;
  auto payload = std::make_shared<zmq::message_t>();
  if (!socket.recv(*payload, zmq::recv_flags::dontwait)) return got;
  const std::span bytes(payload->data<std::byte>(), payload->size());
  const bool more = payload->more();
  got.payload = Blob::received(std::move(payload), bytes);
  while (more && socket.recv(frame, zmq::recv_flags::dontwait)) {
    got.well_formed = false;  // a message has at most one payload: discards the rest
    if (!frame.more()) break;
  }
  return got;
}

}  // namespace steelyard
