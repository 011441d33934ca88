#include "transport/zmq.h"

#include <algorithm>

#include "core/check.h"
#include "core/error.h"
#include "protocol/keys.h"
#include "protocol/machine.h"
#include "transport/address.h"
#include "transport/connections.h"
#include "transport/host.h"
#include "transport/leader.h"
#include "transport/nudges.h"
#include "transport/security/curve.h"
#include "transport/security/peer_table.h"
#include "transport/security/trust.h"

namespace steelyard {
namespace {

constexpr int drained_at_once = 64;       // messages read from one socket before the others have their turn
constexpr int drained_before_news = 256;  // multiples of drained_at_once
constexpr Duration between_list_looks = std::chrono::milliseconds(250);  // reads of the allow-list

}  // namespace

class ZmqLink::State {
 public:
  State(const ZmqContext& context, NodeId self, Memory payloads)
      : context_(*static_cast<zmq::context_t*>(context.handle())),
        trust_(context.trust()),
        self_(self),
        trial_(payloads == Memory::shared ? Segment::make(0) : nullptr) {}

  std::string listen(const std::string& endpoint, ReservedPort* port);
  void connect(NodeId peer, const std::string& endpoint);
  void disconnect(NodeId peer) {
    if (const auto dealer = dealers_.find(peer); dealer != dealers_.end()) {
      for (const Line& line : dealer->second.lines) line.socket->socket().set(zmq::sockopt::linger, 0);
      dealers_.erase(dealer);
    }
    denied_.remove(peer);
    nudges_.forget(peer);
  }
  // `everywhere`: to all places of `to`. Returns false if no connection accepted it.
  bool send(NodeId to, Frames frames, bool everywhere);
  std::optional<Envelope> receive(Time deadline);
  void post(std::vector<Envelope> envelopes) { inbox_.post(std::move(envelopes)); }

  [[nodiscard]] std::uint64_t denied() const { return denied_.times(); }
  void refused(NodeId node);

  std::uint64_t dropped = 0;
  std::function<void(NodeId shard, bool lent)> on_exchange;

 private:
  // A connection to one place of a peer.
  struct Line {
    std::string place;
    std::unique_ptr<ZmqSocket> socket;
    std::string key{};  // expected key of the listener; empty: plain text
    Handshakes handshakes{};
    int descriptor = -1;  // of the connection; -1: none yet
  };
  struct Dealer {
    std::string endpoint;
    std::vector<Line> lines;                        // several if the scheduler has several places, else one
    std::unique_ptr<SharedMemoryTransfer> lending;  // of a single line; null: no lending
    Leader leader{};                                // if there are several lines
  };
  struct Lane {  // to one peer
    ZmqSocket& socket;
    const RoutingId* id;  // null for a dealer
    std::unique_ptr<SharedMemoryTransfer>& lending;
  };

  // The peer has several places, and none is known to lead.
  static bool leads_nowhere(const Dealer& dealer) {
    return dealer.lines.size() > 1 && !dealer.leader.place(steady_now());
  }
  // The connection to send through: the leader's, or the only one.
  static Line& line_of(Dealer& dealer) {
    if (dealer.lines.size() == 1) return dealer.lines[0];
    return dealer.lines[dealer.leader.place(steady_now()).value_or(0)];
  }
  Dealer dial(NodeId peer, const std::string& endpoint);
  Line dial_place(NodeId peer, const std::string& place, bool one_of_several);
  void wait(Time deadline);
  void drain_line(NodeId peer, std::size_t line);
  void drain_router();
  void watch_line(NodeId peer, std::size_t line);
  void watch_router();
  void look_at_list();
  void deny(NodeId peer, const std::string& why);
  void try_denied();
  void look_at_connections();
  void lose(std::optional<NodeId> node);
  // `line`: index of the dealer's connection; 0 for the router.
  void accept(NodeId from, Received received, std::size_t line = 0);
  void accept(NodeId from, const std::string& key, std::span<const std::byte> header, Blob payload,
              std::size_t line = 0);
  bool is_believed(const Envelope& in, std::size_t line);
  void hear(NodeId from, const Received& received);
  std::optional<Lane> lane_to(NodeId node);
  bool send_now(const Lane& lane, Frames frames);
  void send_batch(const Lane& lane);
  void send_batches();
  void nudge();

  zmq::context_t& context_;
  const Trust* const trust_;  // null: plain text
  KnownKeys keys_{trust_};
  const NodeId self_;
  Mailbox inbox_;
  std::uint64_t sockets_made_ = 0;

  const std::unique_ptr<const Segment> trial_;  // for peers to test; null: no lending
  PeerMemory memory_;                           // of the leases below
  std::map<NodeId, Dealer> dealers_;
  Denied denied_;
  std::unique_ptr<ZmqSocket> router_;
  PeerTable peers_{traffic_of(self_)};  // of the router
  // To the router.
  Connections connections_{largest_frame(true, traffic_of(self_)), trust_ != nullptr,
                           traffic_of(self_) == Traffic::bulk};
  Nudges nudges_;
};

std::string ZmqLink::State::listen(const std::string& endpoint, ReservedPort* port) {
  CHECK(!router_, "a node has at most one listening socket");
  router_ = std::make_unique<ZmqSocket>(context_, zmq::socket_type::router, traffic_of(self_));
  if (trust_ != nullptr) make_listener(router_->socket(), trust_->own());
  return bind_to(router_->socket(), endpoint, port);
}

ZmqLink::State::Dealer ZmqLink::State::dial(NodeId peer, const std::string& endpoint) {
  Dealer dealer{endpoint, {}, nullptr};
  const std::vector<std::string> places = split_places(endpoint);
  for (const std::string& place : places) dealer.lines.push_back(dial_place(peer, place, places.size() > 1));
  if (trial_ && peer.role == Role::shard) {
    dealer.lending = std::make_unique<SharedMemoryTransfer>(trial_.get(), memory_);
    send_frames(dealer.lines[0].socket->socket(), nullptr, {dealer.lending->introduction(), std::nullopt});
  } else if (peer.role == Role::shard && on_exchange && !denied_.has(peer, endpoint)) {
    on_exchange(peer, false);
  }
  return dealer;
}

ZmqLink::State::Line ZmqLink::State::dial_place(NodeId peer, const std::string& place,
                                                bool one_of_several) try {
  const KeyedEndpoint there = split_key(place);
  auto socket = std::make_unique<ZmqSocket>(context_, zmq::socket_type::dealer, traffic_of(peer));
  const RoutingId id = routing_id(self_, sockets_made_++, peer);
  socket->socket().set(zmq::sockopt::routing_id, zmq::const_buffer(id.data(), id.size()));
  socket->socket().set(zmq::sockopt::ipv6, by_ipv6(there.address));
  const std::string key = keys_.key_of(there);
  if (!key.empty()) make_caller(socket->socket(), trust_->own(), key);
  if (one_of_several) tell_the_living(socket->socket());
  socket->socket().connect(there.address);
  return {place, std::move(socket), key};
} catch (const zmq::error_t& error) {
  refuse_setup("cannot connect to " + place + ": " + error.what() +
               (error.num() == EMFILE ? "; raise the limit of open files (ulimit -n)"
                                      : "; expected tcp://host:port or ipc://path"));
}

void ZmqLink::State::connect(NodeId peer, const std::string& endpoint) {
  const auto known = dealers_.find(peer);
  if (known != dealers_.end() && known->second.endpoint == endpoint) return;
  if (denied_.has(peer, endpoint)) return;  // it is retried automatically
  denied_.remove(peer);
  dealers_[peer] = dial(peer, endpoint);
}

std::optional<ZmqLink::State::Lane> ZmqLink::State::lane_to(NodeId node) {
  if (const auto dealer = dealers_.find(node); dealer != dealers_.end())
    return Lane{*line_of(dealer->second).socket, nullptr, dealer->second.lending};
  if (Guest* guest = peers_.find(node)) return Lane{*router_, &guest->id, guest->lending};
  return std::nullopt;
}

bool ZmqLink::State::send(NodeId to, Frames frames, bool everywhere) {
  const auto dealer = dealers_.find(to);
  if (dealer != dealers_.end() && (leads_nowhere(dealer->second) || everywhere)) {
    bool taken = false;
    for (const Line& line : dealer->second.lines) {
      line.socket->quiet = false;
      taken |= send_frames(line.socket->socket(), nullptr, frames);
    }
    return taken;
  }
  const std::optional<Lane> lane = lane_to(to);
  if (!lane) return false;
  if (dealer != dealers_.end()) nudges_.through(to, line_of(dealer->second).descriptor);
  nudges_.sent(to, steady_now());
  const bool taken = lane->lending && lane->lending->take(frames);
  if (lane->lending && (!taken || lane->lending->full())) send_batch(*lane);
  return taken || send_now(*lane, std::move(frames));
}

bool ZmqLink::State::send_now(const Lane& lane, Frames frames) {
  lane.socket.quiet = false;
  return send_frames(lane.socket.socket(), lane.id, std::move(frames));
}

void ZmqLink::State::send_batch(const Lane& lane) {
  auto batch = lane.lending->batch();
  if (batch && !send_now(lane, {std::move(*batch), std::nullopt})) ++dropped;
}

// Called before sleeping. Also returns leases, at the latest with the next heartbeat.
void ZmqLink::State::send_batches() {
  for (auto& [node, it] : dealers_)
    if (it.lending) send_batch({*it.lines[0].socket, nullptr, it.lending});
  for (auto& [node, it] : peers_.all())
    if (it.lending) send_batch({*router_, &it.id, it.lending});
}

void ZmqLink::State::nudge() {
  for (const NodeId peer : nudges_.due(steady_now()))
    if (const std::optional<Lane> lane = lane_to(peer)) (void)send_now(*lane, nudge_frame());
}

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
    if (watched[watched.size() - 2].revents != 0) drain_router();
    if (watched.back().revents != 0) watch_router();
  }
}

void ZmqLink::State::drain_line(NodeId peer, std::size_t line) {
  ZmqSocket& socket = *dealers_.at(peer).lines[line].socket;
  socket.quiet = false;
  for (int i = 0; i < drained_at_once; ++i) {
    auto received = receive_frames(socket.socket(), false);
    socket.quiet = !received;
    if (!received) return;
    if (!received->well_formed) {
      ++dropped;
      continue;
    }
    accept(peer, std::move(*received), line);
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
    const NodeId from = *received->from;
    lose(peers_.remember(*received));
    nudges_.through(from, received->descriptor);
    accept(from, std::move(*received));
  }
}

void ZmqLink::State::watch_line(NodeId peer, std::size_t number) {
  bool broken = false;
  Dealer& dealer = dealers_.at(peer);
  Line& line = dealer.lines[number];
  while (const auto event = line.socket->next_event()) {
    if (event->kind == ZMQ_EVENT_CONNECTED) line.descriptor = event->descriptor;
    const Handshakes::Place place{name(peer.role), split_key(line.place).address, trust_ != nullptr};
    if (const auto why = line.handshakes.hear(*event, place)) return deny(peer, *why);
    if (event->kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      // A former leader can send its claim only to a node from which it has received something.
      if (dealer.lines.size() > 1) (void)send_frames(line.socket->socket(), nullptr, nudge_frame());
      // Messages sent before are lost if no node had accepted the connection.
      if (denied_.remove(peer) || leads_nowhere(dealer)) lose(peer);
    }
    broken |= event->kind == ZMQ_EVENT_DISCONNECTED && !line.handshakes.goes_on();
  }
  if (!broken) return;
  do drain_line(peer, number);  // messages that arrived before the end still count
  while (!line.socket->quiet);
  const bool of_several = dealer.lines.size() > 1;
  if (!of_several || dealer.leader.disconnected(number))
    lose(peer);  // otherwise it is not the leader's place
  // The old socket may reconnect; its queued messages must not be sent any more.
  line.socket->socket().set(zmq::sockopt::linger, 0);
  try {
    if (of_several) {
      line = dial_place(peer, std::string(line.place), true);
    } else {
      dealer = dial(peer, std::string(dealer.endpoint));
    }
  } catch (const Failure& failure) {
    deny(peer, failure.what());
  }
}

// The scheduler is indispensable. Any other node is reported as unreachable, once.
void ZmqLink::State::deny(NodeId peer, const std::string& why) {
  if (peer == scheduler_node) refuse_setup(why);
  const std::string endpoint = dealers_.at(peer).endpoint;
  dealers_.erase(peer);
  nudges_.forget(peer);
  if (!denied_.add(peer, endpoint, why, steady_now())) return;
  if (auto notice = notice_for(self_, Unreachable{peer, endpoint, why}))
    return inbox_.push_back(std::move(*notice));
  if (trust_ != nullptr) trust_->say(why);  // a shard has lost its mirror
  lose(peer);
}

void ZmqLink::State::try_denied() {
  for (const auto& [peer, endpoint] : denied_.due(steady_now())) {
    try {
      dealers_[peer] = dial(peer, endpoint);
    } catch (const Failure& failure) {
      dealers_.erase(peer);
      denied_.add(peer, endpoint, failure.what(), steady_now());
    }
  }
}

// Messages are read before the loss of their connection is processed: more of them than libzmq queues for one
// connection. A peer that sends without an end does not delay the loss any further.
void ZmqLink::State::watch_router() {
  drain_router();
  for (int turns = 1; turns < drained_before_news && !router_->quiet; ++turns) drain_router();
  const std::vector<SocketEvent> events = router_->events();
  connections_.take(events, steady_now());
  for (const NodeId node : peers_.take(events)) lose(node);
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

// A peer that continues after its second refusal is disconnected, and its messages are dropped.
void ZmqLink::State::refused(NodeId node) {
  const auto descriptor = peers_.refused(node);
  if (!descriptor) return;
  inbox_.drop_from(node);
  connections_.condemn(*descriptor, steady_now());
}

void ZmqLink::State::lose(std::optional<NodeId> node) {
  if (!node) return;
  nudges_.forget(*node);
  if (auto notice = notice_for(self_, Disconnected{*node})) inbox_.push_back(std::move(*notice));
}

// Peers that were removed from the allow-list since the last check are disconnected, whichever side opened
// the connection.
void ZmqLink::State::look_at_list() {
  if (!keys_.look()) return;
  std::vector<std::pair<NodeId, KeyedEndpoint>> gone;
  for (const auto& [peer, dealer] : dealers_) {
    const auto revoked =
        std::ranges::find_if(dealer.lines, [&](const Line& line) { return keys_.revoked(line.key); });
    if (revoked != dealer.lines.end())
      gone.push_back({peer, {split_key(revoked->place).address, revoked->key}});
  }
  for (const auto& [peer, place] : gone) deny(peer, revocation(place));
  for (const NodeId node : peers_.keep_only(*keys_.allowed())) {
    trust_->say(to_string(node) + " is no longer in the allow-list: its messages are dropped");
    lose(node);
  }
}

void ZmqLink::State::accept(NodeId from, Received received, std::size_t line) {
  const std::span header(received.header.data<std::byte>(), received.header.size());
  if (is_nudge(header)) return;
  if (is_lending(header)) return hear(from, received);
  accept(from, received.key, header, std::move(received.payload), line);
}

// If the scheduler has several places, messages of one of them are accepted.
bool ZmqLink::State::is_believed(const Envelope& in, std::size_t line) {
  const auto dealer = dealers_.find(in.from);
  return dealer == dealers_.end() || dealer->second.lines.size() < 2 ||
         dealer->second.leader.believes(steady_now(), line, in.message);
}

// Frames of the other process's link, and messages with lent payloads.
void ZmqLink::State::hear(NodeId from, const Received& received) {
  const std::optional<Lane> lane = lane_to(from);
  const bool former = !lane || (lane->id != nullptr && *lane->id != received.identity);
  if (former || !received.payload.empty()) return void(++dropped);
  if (!lane->lending) lane->lending = std::make_unique<SharedMemoryTransfer>(trial_.get(), memory_);
  auto heard = lane->lending->hear({received.header.data<std::byte>(), received.header.size()});
  if (!heard) return void(++dropped);
  if (heard->answer) {
    (void)send_now(*lane, {std::move(*heard->answer), std::nullopt});
    if (lane->id == nullptr && on_exchange) on_exchange(from, lane->lending->agreed().value_or(false));
  }
  for (SharedMemoryTransfer::Arrived& it : heard->messages)
    accept(from, received.key, it.header, std::move(it.payload));
}

void ZmqLink::State::accept(NodeId from, const std::string& key, std::span<const std::byte> header,
                            Blob payload, std::size_t line) {
  auto envelope = let_in(self_, from, key, header, std::move(payload));
  if (envelope && is_believed(*envelope, line)) return inbox_.push_back(std::move(*envelope));
  ++dropped;
}

ZmqLink::ZmqLink(ZmqContext& context, NodeId self, Memory payloads)
    : state_(std::make_unique<State>(context, self, payloads)), self_(self) {}
ZmqLink::~ZmqLink() {
  if (here_) here_->leave(self_);
}

void ZmqLink::join(std::shared_ptr<SameProcess> links) { (here_ = std::move(links))->join(self_, *this); }
std::string ZmqLink::listen(const std::string& endpoint, ReservedPort* port) {
  return state_->listen(endpoint, port);
}
void ZmqLink::on_exchange(std::function<void(NodeId, bool)> tell) { state_->on_exchange = std::move(tell); }
void ZmqLink::connect(NodeId peer, const std::string& endpoint) {
  if (!here_ || !here_->has(peer)) state_->connect(peer, endpoint);
}
void ZmqLink::disconnect(NodeId peer) { state_->disconnect(peer); }
void ZmqLink::send(Envelope envelope) {
  if (here_ && here_->deliver(envelope)) return;
  // The claimant may be a former leader.
  const auto* to_scheduler = std::get_if<ToScheduler>(&envelope.message);
  const bool everywhere = to_scheduler != nullptr && std::holds_alternative<LeaderGrant>(*to_scheduler);
  if (!state_->send(envelope.to, encode(envelope.message), everywhere)) ++state_->dropped;
  if (is_last_word(envelope.message)) state_->refused(envelope.to);
}
std::optional<Envelope> ZmqLink::receive(Time deadline) { return state_->receive(deadline); }
void ZmqLink::post(std::vector<Envelope> envelopes) { state_->post(std::move(envelopes)); }
std::uint64_t ZmqLink::dropped() const { return state_->dropped; }
std::uint64_t ZmqLink::denied() const { return state_->denied(); }

}  // namespace steelyard
