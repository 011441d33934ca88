#include "wire/transport/zmq.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>

#include "core/check.h"
#include "core/error.h"
#include "core/queue.h"
#include "wire/authority.h"
#include "wire/keyed_endpoint.h"
#include "wire/notice.h"
#include "wire/transport/address.h"
#include "wire/transport/curve.h"
#include "wire/transport/guests.h"
#include "wire/transport/handshakes.h"
#include "wire/transport/nudges.h"
#include "wire/transport/trust.h"

namespace steelyard {
namespace {

constexpr int drained_at_once = 64;  // messages taken from one socket before the others have their turn
constexpr std::size_t mailbox_capacity = 1 << 16;

}  // namespace

class ZmqLink::State {
 public:
  State(const ZmqContext& context, NodeId self, Memory payloads)
      : context_(*static_cast<zmq::context_t*>(context.handle())),
        trust_(context.trust()),
        self_(self),
        wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        posted_(mailbox_capacity),
        trial_(payloads == Memory::shared ? Segment::make(0) : nullptr) {
    CHECK(wake_ >= 0, "no descriptor left for an eventfd");
  }
  ~State() { close(wake_); }

  std::string listen(const std::string& endpoint);
  void connect(NodeId peer, const std::string& endpoint);
  void disconnect(NodeId peer) { dealers_.erase(peer), nudges_.forget(peer); }
  bool send(NodeId to, Frames frames);  // false: nobody takes it
  std::optional<Envelope> receive(Time deadline);
  void post(std::vector<Envelope> envelopes);

  std::uint64_t dropped = 0;
  std::function<void(NodeId shard, bool lent)> on_exchange;

 private:
  struct Dealer {
    std::string endpoint;
    std::unique_ptr<ZmqSocket> socket;
    std::unique_ptr<Lending> lending;  // of this connection; null: nothing is lent
    Handshakes handshakes{};
  };
  struct Lane {  // to one peer
    ZmqSocket& socket;
    const RoutingId* id;  // null: a dealer's
    std::unique_ptr<Lending>& lending;
  };

  Dealer dial(NodeId peer, const std::string& endpoint);
  void wait(Time deadline);
  void drain_posted();
  void drain_dealer(NodeId peer);
  void drain_router();
  void watch_dealer(NodeId peer);
  void watch_router();
  void look_at_list();
  void lose(std::optional<NodeId> node);
  void accept(NodeId from, Received received);
  void accept(NodeId from, std::span<const std::byte> header, Blob payload);
  void hear(NodeId from, const Received& received);
  std::optional<Lane> lane_to(NodeId node);
  [[nodiscard]] std::string key_of_listener(const KeyedEndpoint& place) const;
  bool send_now(const Lane& lane, Frames frames);
  void send_batch(const Lane& lane);
  void send_batches();
  void nudge();

  zmq::context_t& context_;
  const Trust* const trust_;  // null: plain text
  std::shared_ptr<const AllowList> allowed_ = trust_ == nullptr ? nullptr : trust_->allowed();
  const NodeId self_;
  const int wake_;
  BoundedQueue<Envelope> posted_;  // the only thing other threads touch, with wake_
  std::deque<Envelope> inbox_;
  std::uint64_t sockets_made_ = 0;

  const std::unique_ptr<const Segment> trial_;  // for others to try; null: nothing is lent
  PeerMemory memory_;                           // behind the leases below
  std::map<NodeId, Dealer> dealers_;
  std::unique_ptr<ZmqSocket> router_;
  Guests guests_;  // of the router
  Nudges nudges_;
};

std::string ZmqLink::State::listen(const std::string& endpoint) {
  CHECK(!router_, "a node has at most one listening socket");
  router_ = std::make_unique<ZmqSocket>(context_, zmq::socket_type::router, traffic_of(self_));
  if (trust_ != nullptr) make_listener(router_->socket(), trust_->own());
  try {
    // Bound to [::], it is reached by IPv4 too.
    router_->socket().set(zmq::sockopt::ipv6, by_ipv6(endpoint));
    router_->socket().bind(endpoint);
  } catch (const zmq::error_t& error) {
    const std::string remedy = error.num() == EADDRINUSE
                                   ? "; another program uses it: choose another port, or :* for any"
                               : error.num() == EADDRNOTAVAIL || error.num() == ENODEV
                                   ? "; this machine has no such address: give one of its own, or * for all"
                                   : "; expected tcp://address:port or ipc://path";
    throw Failure(ExitCode::configuration, "cannot listen on " + endpoint + ": " + error.what() + remedy);
  }
  return router_->socket().get(zmq::sockopt::last_endpoint);
}

ZmqLink::State::Dealer ZmqLink::State::dial(NodeId peer, const std::string& endpoint) try {
  const std::vector<std::string> places = split_places(endpoint);
  const KeyedEndpoint place = split_key(places.front());
  auto socket = std::make_unique<ZmqSocket>(context_, zmq::socket_type::dealer, traffic_of(peer));
  const RoutingId id = routing_id(self_, sockets_made_++);
  socket->socket().set(zmq::sockopt::routing_id, zmq::const_buffer(id.data(), id.size()));
  const auto needs_ipv6 = [](const std::string& it) { return by_ipv6(split_key(it).address); };
  socket->socket().set(zmq::sockopt::ipv6, std::ranges::any_of(places, needs_ipv6));
  if (const std::string key = key_of_listener(place); !key.empty())
    make_caller(socket->socket(), trust_->own(), key);
  if (places.size() > 1) tell_the_living(socket->socket());
  for (const std::string& each : places) socket->socket().connect(split_key(each).address);
  std::unique_ptr<Lending> lending;
  if (trial_ && peer.role == Role::shard) {
    lending = std::make_unique<Lending>(trial_.get(), memory_);
    send_frames(socket->socket(), nullptr, {lending->introduction(), std::nullopt});
  } else if (peer.role == Role::shard && on_exchange) {
    on_exchange(peer, false);
  }
  return {endpoint, std::move(socket), std::move(lending)};
} catch (const zmq::error_t& error) {
  throw Failure(ExitCode::configuration,
                "cannot connect to " + endpoint + ": " + error.what() +
                    (error.num() == EMFILE ? "; raise the limit of open files (ulimit -n)"
                                           : "; expected tcp://host:port or ipc://path"));
}

void ZmqLink::State::connect(NodeId peer, const std::string& endpoint) {
  const auto known = dealers_.find(peer);
  if (known != dealers_.end() && known->second.endpoint == endpoint) return;
  dealers_[peer] = dial(peer, endpoint);
}

std::optional<ZmqLink::State::Lane> ZmqLink::State::lane_to(NodeId node) {
  if (const auto dealer = dealers_.find(node); dealer != dealers_.end())
    return Lane{*dealer->second.socket, nullptr, dealer->second.lending};
  if (Guest* guest = guests_.find(node)) return Lane{*router_, &guest->id, guest->lending};
  return std::nullopt;
}

bool ZmqLink::State::send(NodeId to, Frames frames) {
  const std::optional<Lane> lane = lane_to(to);
  if (!lane) return false;
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

// Before we sleep. That returns what others lent us too, at the latest with the next heartbeat.
void ZmqLink::State::send_batches() {
  for (auto& [node, it] : dealers_)
    if (it.lending) send_batch({*it.socket, nullptr, it.lending});
  for (auto& [node, it] : guests_.all())
    if (it.lending) send_batch({*router_, &it.id, it.lending});
}

void ZmqLink::State::nudge() {
  for (const NodeId peer : nudges_.due(steady_now()))
    if (const std::optional<Lane> lane = lane_to(peer)) (void)send_now(*lane, nudge_frame());
}

std::optional<Envelope> ZmqLink::State::receive(Time deadline) {
  // A socket may wake us with nothing for the machine: an event of its own, or a message that made no sense.
  while (inbox_.empty()) {
    wait(deadline);
    if (inbox_.empty() && steady_now() >= deadline) return std::nullopt;
  }
  Envelope envelope = std::move(inbox_.front());
  inbox_.pop_front();
  return envelope;
}

void ZmqLink::State::post(std::vector<Envelope> envelopes) {
  for (Envelope& envelope : envelopes) posted_.try_push(std::move(envelope));
  const std::uint64_t one = 1;
  (void)!write(wake_, &one, sizeof one);  // can only fail if it is signalled already
}

// Asking libzmq whether a socket has anything costs a system call each, so one poll() watches the descriptors
// of all. Those tell only of what comes after libzmq last looked, and it also looks when something is sent: a
// socket that may hold more, or that has been sent through since it was read, is read before anybody sleeps.
void ZmqLink::State::wait(Time deadline) {
  send_batches();
  nudge();
  look_at_list();
  for (auto& [peer, dealer] : dealers_) {
    if (!dealer.socket->quiet) drain_dealer(peer);
  }
  if (router_ && !router_->quiet) drain_router();

  std::vector<pollfd> watched{{wake_, POLLIN, 0}};
  std::vector<NodeId> peers;
  bool quiet = inbox_.empty();
  const auto watch = [&](const ZmqSocket& socket) {
    quiet &= socket.quiet;
    watched.push_back({socket.data_descriptor(), POLLIN, 0});
    watched.push_back({socket.monitor_descriptor(), POLLIN, 0});
  };
  for (const auto& [peer, dealer] : dealers_) {
    peers.push_back(peer);
    watch(*dealer.socket);
  }
  if (router_) watch(*router_);
  if (poll_until(watched, quiet ? std::min(deadline, nudges_.deadline()) : Time{}) <= 0) return;

  if (watched[0].revents != 0) drain_posted();
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (watched[1 + 2 * i].revents != 0) drain_dealer(peers[i]);
    if (watched[2 + 2 * i].revents != 0) watch_dealer(peers[i]);
  }
  if (router_) {
    if (watched[watched.size() - 2].revents != 0) drain_router();
    if (watched.back().revents != 0) watch_router();
  }
}

void ZmqLink::State::drain_posted() {
  std::uint64_t count = 0;
  (void)!read(wake_, &count, sizeof count);
  while (auto envelope = posted_.pop(Time{})) inbox_.push_back(std::move(*envelope));
}

void ZmqLink::State::drain_dealer(NodeId peer) {
  ZmqSocket& socket = *dealers_.at(peer).socket;
  socket.quiet = false;
  for (int i = 0; i < drained_at_once; ++i) {
    auto received = receive_frames(socket.socket(), false);
    socket.quiet = !received;
    if (!received) return;
    if (!received->well_formed) {
      ++dropped;
      continue;
    }
    accept(peer, std::move(*received));
  }
}

void ZmqLink::State::drain_router() {
  router_->quiet = false;
  for (int i = 0; i < drained_at_once; ++i) {
    auto received = receive_frames(router_->socket(), true);
    router_->quiet = !received;
    if (!received) return;
    if (!received->well_formed) {
      ++dropped;
      continue;
    }
    if (!guests_.may_speak(*received, allowed_.get())) {
      ++dropped;
      continue;
    }
    const NodeId from = *received->from;
    lose(guests_.remember(*received));
    nudges_.through(from, received->descriptor);
    accept(from, std::move(*received));
  }
}

void ZmqLink::State::watch_dealer(NodeId peer) {
  bool broken = false;
  Dealer& dealer = dealers_.at(peer);
  while (const auto event = dealer.socket->next_event()) {
    if (event->kind == ZMQ_EVENT_CONNECTED) nudges_.through(peer, event->descriptor);
    dealer.handshakes.hear(*event, {name(peer.role), split_key(dealer.endpoint).address, trust_ != nullptr});
    broken |= event->kind == ZMQ_EVENT_DISCONNECTED && !dealer.handshakes.goes_on();
  }
  if (!broken) return;
  do drain_dealer(peer);  // what had arrived before the end still counts
  while (!dealer.socket->quiet);
  dealer = dial(peer, std::string(dealer.endpoint));
  nudges_.forget(peer);
  if (auto notice = notice_for(self_, Disconnected{peer})) inbox_.push_back(std::move(*notice));
}

// Words come before the news that their speaker is gone, however many there are.
void ZmqLink::State::watch_router() {
  do drain_router();
  while (!router_->quiet);
  while (const auto event = router_->next_event()) {
    if (event->kind == ZMQ_EVENT_DISCONNECTED) lose(guests_.forget(event->descriptor));
  }
}

void ZmqLink::State::lose(std::optional<NodeId> node) {
  if (!node) return;
  nudges_.forget(*node);
  if (auto notice = notice_for(self_, Disconnected{*node})) inbox_.push_back(std::move(*notice));
}

// Whether somebody has been taken from the allow-list since it was last looked at.
void ZmqLink::State::look_at_list() {
  if (trust_ == nullptr) return;
  auto list = trust_->allowed();
  if (list == allowed_) return;
  allowed_ = std::move(list);
  for (const NodeId node : guests_.keep_only(*allowed_)) {
    trust_->say(to_string(node) + " has no key in the allow-list any more: it is not listened to");
    lose(node);
  }
}

// The key that must be met there; empty for plain text.
std::string ZmqLink::State::key_of_listener(const KeyedEndpoint& place) const {
  if (trust_ != nullptr) return place.key.empty() ? trust_->scheduler_key() : place.key;
  if (place.key.empty()) return {};
  throw Failure(ExitCode::configuration, place.address + " speaks only to those that have keys: give --keys");
}

void ZmqLink::State::accept(NodeId from, Received received) {
  const std::span header(received.header.data<std::byte>(), received.header.size());
  if (is_nudge(header)) return;
  if (is_lending(header)) return hear(from, received);
  accept(from, header, std::move(received.payload));
}

// What the link of another process says, and messages whose payload it lends.
void ZmqLink::State::hear(NodeId from, const Received& received) {
  const std::optional<Lane> lane = lane_to(from);
  const bool former = !lane || (lane->id != nullptr && *lane->id != received.identity);
  if (former || !received.payload.empty()) return void(++dropped);
  if (!lane->lending) lane->lending = std::make_unique<Lending>(trial_.get(), memory_);
  auto heard = lane->lending->hear({received.header.data<std::byte>(), received.header.size()});
  if (!heard) return void(++dropped);
  if (heard->answer) {
    (void)send_now(*lane, {std::move(*heard->answer), std::nullopt});
    if (lane->id == nullptr && on_exchange) on_exchange(from, lane->lending->agreed().value_or(false));
  }
  for (Lending::Arrived& it : heard->messages) accept(from, it.header, std::move(it.payload));
}

void ZmqLink::State::accept(NodeId from, std::span<const std::byte> header, Blob payload) {
  auto decoded = header.size() > largest_header ? Damage{"has too long a header"}
                                                : decode(self_.role, header, std::move(payload));
  std::visit(Overloaded{
                 [&](Message& message) {
                   if (may_say(from.role, message)) {
                     inbox_.push_back({from, self_, std::move(message)});
                   } else {
                     ++dropped;
                   }
                 },
                 [&](VersionMismatch& version_mismatch) {
                   if (auto notice = notice_for(self_, version_mismatch)) {
                     notice->from = from;
                     inbox_.push_back(std::move(*notice));
                   }
                 },
                 [&](Damage&) { ++dropped; },
             },
             decoded);
}

ZmqLink::ZmqLink(ZmqContext& context, NodeId self, Memory payloads)
    : state_(std::make_unique<State>(context, self, payloads)) {}
ZmqLink::~ZmqLink() = default;

std::string ZmqLink::listen(const std::string& endpoint) { return state_->listen(endpoint); }
void ZmqLink::on_exchange(std::function<void(NodeId, bool)> tell) { state_->on_exchange = std::move(tell); }
void ZmqLink::connect(NodeId peer, const std::string& endpoint) { state_->connect(peer, endpoint); }
void ZmqLink::disconnect(NodeId peer) { state_->disconnect(peer); }
void ZmqLink::send(Envelope envelope) {
  if (!state_->send(envelope.to, encode(envelope.message))) ++state_->dropped;
}
std::optional<Envelope> ZmqLink::receive(Time deadline) { return state_->receive(deadline); }
void ZmqLink::post(std::vector<Envelope> envelopes) { state_->post(std::move(envelopes)); }
std::uint64_t ZmqLink::dropped() const { return state_->dropped; }

}  // namespace steelyard
