#include <algorithm>

#include "protocol/machine.h"
#include "transport/host.h"
#include "transport/zmq_state.h"

namespace steelyard {
namespace {

constexpr int drained_at_once = 64;       // messages read from one socket before the others have their turn
constexpr int drained_before_news = 256;  // multiples of drained_at_once
constexpr Duration between_list_looks = std::chrono::milliseconds(250);  // reads of the allow-list

}  // namespace

std::optional<Envelope> ZmqLink::State::receive(Time deadline) {
  // A socket may wake this thread without a message for the machine: an internal event, or a malformed
  // message.
  while (inbox_.empty()) {
    wait(deadline);
    if (inbox_.empty() && steady_now() >= deadline) return std::nullopt;
  }
  return inbox_.next();
}

// Asking each socket for messages costs a system call, so one poll() watches all descriptors. These announce
// only messages that arrive after libzmq last looked, and libzmq also looks during a send. So a socket that
// may hold more messages, or was sent through since its last read, is read before this thread sleeps.
void ZmqLink::State::wait(Time deadline) {
  send_batches();
  nudge();
  look_at_list();
  try_denied();
  look_at_connections();
  for (auto& [peer, dealer] : dealers_) {
    for (std::size_t line = 0; line < dealer.lines.size(); ++line) {
      if (!dealer.lines[line].socket->quiet) drain_line(peer, line);
    }
  }
  if (router_ && !router_->quiet) drain_router();

  std::vector<pollfd> watched{{inbox_.descriptor(), POLLIN, 0}};
  std::vector<std::pair<NodeId, std::size_t>> lines;
  bool quiet = inbox_.empty();
  const auto watch = [&](const ZmqSocket& socket) {
    quiet &= socket.quiet;
    watched.push_back({socket.data_descriptor(), POLLIN, 0});
    watched.push_back({socket.monitor_descriptor(), POLLIN, 0});
  };
  for (const auto& [peer, dealer] : dealers_) {
    for (std::size_t line = 0; line < dealer.lines.size(); ++line) {
      lines.emplace_back(peer, line);
      watch(*dealer.lines[line].socket);
    }
  }
  if (router_) watch(*router_);
  const std::size_t sockets = watched.size();
  direct_.watch(watched);
  const Time look = trust_ == nullptr ? Time::max() : steady_now() + between_list_looks;
  const Time until =
      std::min({deadline, denied_.deadline(), look, connections_.next_look(), nudges_.deadline()});
  if (poll_until(watched, quiet ? until : Time{}) <= 0) return;

  if (watched[0].revents != 0) inbox_.take_posted();
  const auto there = [&](const std::pair<NodeId, std::size_t>& it) { return dealers_.contains(it.first); };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto [peer, line] = lines[i];
    if (watched[1 + 2 * i].revents != 0 && there(lines[i])) drain_line(peer, line);
    if (watched[2 + 2 * i].revents != 0 && there(lines[i])) watch_line(peer, line);
  }
  if (router_) {
    if (watched[sockets - 2].revents != 0) drain_router();
    if (watched[sockets - 1].revents != 0) watch_router();
  }
  for (const NodeId peer : direct_.readable(std::span(watched).subspan(sockets)))
    (void)drain_direct(peer, drained_at_once);
  direct_.drop_ended();
}

// Returns whether all packets that may be handled now were.
bool ZmqLink::State::drain_direct(NodeId peer, int most) {
  for (int i = 0; i < most; ++i) {
    if (!has_connection(peer)) direct_.forget(peer);
    const auto frame = direct_.next(peer);
    if (!frame) return true;
    const Guest* guest = dealers_.contains(peer) ? nullptr : peers_.find(peer);
    if (!hear(peer, guest == nullptr ? std::string() : guest->key, *frame)) ++dropped;
  }
  return false;
}

void ZmqLink::State::drain_all_direct() {
  for (const NodeId peer : direct_.peers()) (void)drain_direct(peer, drained_before_news * drained_at_once);
}

// A connection can end without a reported loss, e.g. that of a server without heartbeats.
void ZmqLink::State::drop_direct_leftovers() {
  for (const NodeId peer : direct_.peers())
    if (!has_connection(peer)) direct_.forget(peer);
}

void ZmqLink::State::drain_line(NodeId peer, std::size_t line) {
  ZmqSocket& socket = *dealers_.at(peer).lines[line].socket;
  socket.quiet = false;
  for (int i = 0; i < drained_at_once; ++i) {
    auto received = receive_frames(socket.socket(), false);
    socket.quiet = !received;
    if (!received) return;
    come_through_socket(peer);
    received->well_formed ? accept(peer, std::move(*received), line) : void(++dropped);
    (void)drain_direct(peer, drained_at_once);  // those that waited for it
  }
}

void ZmqLink::State::drain_router() {
  router_->quiet = false;
  for (int i = 0; i < drained_at_once; ++i) {
    auto received = receive_frames(router_->socket(), true);
    router_->quiet = !received;
    if (!received) return;
    connections_.received_from(received->descriptor, {received->header.size(), received->payload.size()});
    if (!received->well_formed) {
      ++dropped;
      continue;
    }
    const bool for_us = peer_number(received->identity) == self_.number;
    if (!for_us || !peers_.may_speak(*received, keys_.allowed())) {
      ++dropped;
      continue;
    }
    identify(*received);
    const NodeId from = *received->from;
    const bool by_dealer = dealers_.contains(from);  // the direct connection belongs to the dealer
    if (const Guest* guest = peers_.find(from);
        !by_dealer && guest != nullptr && guest->id == received->identity)
      come_through_socket(from);
    accept(from, std::move(*received));
    if (!by_dealer) (void)drain_direct(from, drained_at_once);  // those that waited for it
  }
}

// Assigns the message to its sender and connection. Packets of the peer's former connection come before the
// frames of a new one.
void ZmqLink::State::identify(const Received& received) {
  const NodeId from = *received.from;
  const Guest* guest = dealers_.contains(from) ? nullptr : peers_.find(from);
  if (guest != nullptr && socket_number(received.identity) > socket_number(guest->id)) {
    (void)drain_direct(from, drained_before_news * drained_at_once);
    direct_.forget(from);
  }
  lose(peers_.remember(received));
  nudges_.through(from, received.descriptor);
}

// Before each frame from a socket: packets that were sent before it. One that was sent after it and has been
// read is held; it is handled behind the frame, since its descriptor wakes the thread no more.
void ZmqLink::State::come_through_socket(NodeId peer) {
  (void)drain_direct(peer, drained_before_news * drained_at_once);
  direct_.received(peer);
}

// Messages are read before the loss of their connection is processed: more of them than libzmq queues for one
// connection. A peer that sends without an end does not delay the loss any further.
void ZmqLink::State::watch_router() {
  drain_router();
  for (int turns = 1; turns < drained_before_news && !router_->quiet; ++turns) drain_router();
  const std::vector<SocketEvent> events = router_->events();
  drain_all_direct();  // a peer may have sent packets until its connection ended
  connections_.take(events, steady_now());
  for (const NodeId node : peers_.take(events)) lose(node);
  drop_direct_leftovers();
}

void ZmqLink::State::look_at_connections() {
  const Time now = steady_now();
  if (!router_ || now < connections_.next_look()) return;
  connections_.look(now, [&] {
    drain_router();
    for (int turns = 1; turns < drained_at_once && !router_->quiet; ++turns) drain_router();
    return router_->quiet;
  });
}

void ZmqLink::State::accept(NodeId from, Received received, std::size_t line) {
  const std::span header(received.header.data<std::byte>(), received.header.size());
  if (is_nudge(header)) return;
  if (!is_lending(header) && !is_direct_frame(header))
    return accept(from, received.key, header, std::move(received.payload), line);
  const std::optional<Lane> lane = lane_to(from);
  const bool former = !lane || (lane->id != nullptr && *lane->id != received.identity);
  const bool of_dealer = received.from && dealers_.contains(from) && is_direct_frame(header);
  if (former || of_dealer || !received.payload.empty() || !hear(from, received.key, header)) ++dropped;
}

// If the scheduler has several places, messages of one of them are accepted.
bool ZmqLink::State::is_believed(const Envelope& in, std::size_t line) {
  const auto dealer = dealers_.find(in.from);
  return dealer == dealers_.end() || dealer->second.lines.size() < 2 ||
         dealer->second.leader.believes(steady_now(), line, in.message);
}

// A frame without a payload. Returns false if it must be dropped.
bool ZmqLink::State::hear(NodeId from, const std::string& key, std::span<const std::byte> frame) {
  if (is_lending(frame)) return hear_lending(from, key, frame);
  if (is_direct_frame(frame)) return hear_direct(from, frame);
  accept(from, key, frame, Blob());
  return true;
}

bool ZmqLink::State::hear_direct(NodeId from, std::span<const std::byte> frame) {
  // With --exchange sockets a server does not answer. The scheduler lends nothing, so its members decide.
  if (!trial_ && self_ != scheduler_node) return true;
  DirectLines::Bytes answer;
  if (!direct_.hear(from, frame, answer)) return false;
  const std::optional<Lane> lane = lane_to(from);
  if (!answer.empty() && lane) (void)send_now(*lane, {std::move(answer), std::nullopt});
  return true;
}

// Frames of the other process's link, and messages with lent payloads.
bool ZmqLink::State::hear_lending(NodeId from, const std::string& key, std::span<const std::byte> frame) {
  const std::optional<Lane> lane = lane_to(from);
  if (!lane) return false;
  if (!lane->lending) lane->lending = transfer();
  auto heard = lane->lending->hear(frame);
  if (!heard) return false;
  if (heard->answer) {
    (void)send_now(*lane, {std::move(*heard->answer), std::nullopt});
    if (lane->id == nullptr && on_exchange) on_exchange(from, lane->lending->exchanged());
  }
  for (SharedMemoryTransfer::Arrived& it : heard->messages)
    accept(from, key, it.header, std::move(it.payload));
  return true;
}

void ZmqLink::State::accept(NodeId from, const std::string& key, std::span<const std::byte> header,
                            Blob payload, std::size_t line) {
  auto envelope = let_in(self_, from, key, header, std::move(payload));
  if (envelope && is_believed(*envelope, line)) return inbox_.push_back(std::move(*envelope));
  ++dropped;
}

}  // namespace steelyard
