#include "transport/zmq.h"

#include <algorithm>

#include "core/check.h"
#include "core/error.h"
#include "protocol/keys.h"
#include "protocol/machine.h"
#include "transport/address.h"
#include "transport/security/curve.h"
#include "transport/zmq_state.h"

namespace steelyard {
namespace {

// The connections that each round waits for: a worker's, and a shard's to the scheduler.
bool is_on_path_of_round(NodeId self, NodeId peer) {
  return self.role == Role::worker || (self.role == Role::shard && peer == scheduler_node);
}

}  // namespace

std::string ZmqLink::State::listen(const std::string& endpoint, ReservedPort* port) {
  CHECK(!router_, "a node has at most one listening socket");
  router_ = std::make_unique<ZmqSocket>(context_, zmq::socket_type::router, traffic_of(self_));
  if (trust_ != nullptr) make_listener(router_->socket(), trust_->own());
  return bind_to(router_->socket(), endpoint, port);
}

Dealer ZmqLink::State::dial(NodeId peer, const std::string& endpoint) {
  Dealer dealer{endpoint, {}, nullptr};
  const std::vector<std::string> places = split_places(endpoint);
  for (const std::string& place : places) dealer.lines.push_back(dial_place(peer, place, places.size() > 1));
  if (trial_ && peer.role == Role::shard) {
    dealer.lending = transfer();
    send_frames(dealer.lines[0].socket->socket(), nullptr, {dealer.lending->introduction(), std::nullopt});
  } else if (peer.role == Role::shard && on_exchange && !denied_.has(peer, endpoint)) {
    on_exchange(peer, Exchanged::sent);
  }
  direct_.forget(peer);
  if (trial_ && places.size() == 1 && is_on_path_of_round(self_, peer)) {
    if (auto request = direct_.ask(peer))
      send_frames(dealer.lines[0].socket->socket(), nullptr, {std::move(*request), std::nullopt});
  }
  return dealer;
}

Dealer::Line ZmqLink::State::dial_place(NodeId peer, const std::string& place, bool one_of_several) {
  const RoutingId id = routing_id(self_, sockets_made_++, peer);
  return open_line(context_, trust_, keys_, {id, traffic_of(peer), place, one_of_several});
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
    return Lane{node, *dealer->second.line().socket, nullptr, dealer->second.lending};
  if (Guest* guest = peers_.find(node)) return Lane{node, *router_, &guest->id, guest->lending};
  return std::nullopt;
}

bool ZmqLink::State::send(NodeId to, Frames frames, bool everywhere) {
  const auto dealer = dealers_.find(to);
  if (dealer != dealers_.end() && (dealer->second.leads_nowhere() || everywhere)) {
    bool taken = false;
    for (const Dealer::Line& line : dealer->second.lines) {
      line.socket->quiet = false;
      taken |= send_frames(line.socket->socket(), nullptr, frames);
    }
    if (taken) direct_.sent(to);  // peers with several places have no direct connection
    return taken;
  }
  const std::optional<Lane> lane = lane_to(to);
  if (!lane) return false;
  if (dealer != dealers_.end()) nudges_.through(to, dealer->second.line().descriptor);
  nudges_.sent(to, steady_now());
  const bool taken = lane->lending && lane->lending->take(frames);
  batches_wait_ |= taken;
  if (!lane->lending && batches_wait_) send_batches();  // a woken scheduler may delay this thread
  if (lane->lending && (!taken || lane->lending->full())) send_batch(*lane);
  return taken || send_now(*lane, std::move(frames));
}

bool ZmqLink::State::send_now(const Lane& lane, Frames frames) {
  return direct_.send(lane.peer, frames) || send_through_socket(lane, std::move(frames));
}

bool ZmqLink::State::send_through_socket(const Lane& lane, Frames frames) {
  lane.socket.quiet = false;
  const bool taken = send_frames(lane.socket.socket(), lane.id, std::move(frames));
  if (taken) direct_.sent(lane.peer);
  return taken;
}

void ZmqLink::State::send_batch(const Lane& lane) {
  auto batch = lane.lending->batch();
  if (batch && !send_now(lane, {std::move(*batch), std::nullopt})) ++dropped;
}

// Called before sleeping. Also returns leases, at the latest with the next heartbeat.
void ZmqLink::State::send_batches() {
  batches_wait_ = false;
  for (auto& [node, it] : dealers_)
    if (it.lending) send_batch({node, *it.lines[0].socket, nullptr, it.lending});
  for (auto& [node, it] : peers_.all())
    if (it.lending) send_batch({node, *router_, &it.id, it.lending});
}

// A nudge follows the bytes that TCP has lost, so it must not go directly.
void ZmqLink::State::nudge() {
  for (const NodeId peer : nudges_.due(steady_now()))
    if (const std::optional<Lane> lane = lane_to(peer)) (void)send_through_socket(*lane, nudge_frame());
}

void ZmqLink::State::watch_line(NodeId peer, std::size_t number) {
  bool broken = false;
  Dealer& dealer = dealers_.at(peer);
  Dealer::Line& line = dealer.lines[number];
  while (const auto event = line.socket->next_event()) {
    if (event->kind == ZMQ_EVENT_CONNECTED) line.descriptor = event->descriptor;
    const Handshakes::Place place{name(peer.role), split_key(line.place).address, trust_ != nullptr};
    if (const auto why = line.handshakes.hear(*event, place, steady_now())) return deny(peer, *why);
    if (event->kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      // A former leader can send its claim only to a node from which it has received something.
      if (dealer.lines.size() > 1) (void)send_frames(line.socket->socket(), nullptr, nudge_frame());
      // Messages sent before are lost if no node had accepted the connection.
      if (denied_.remove(peer) || dealer.leads_nowhere()) lose(peer);
    }
    broken |= event->kind == ZMQ_EVENT_DISCONNECTED && !line.handshakes.goes_on();
  }
  if (!broken) return;
  do drain_line(peer, number);  // messages that arrived before the end still count
  while (!line.socket->quiet);
  drain_all_direct();
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
  direct_.forget(peer);
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

// A peer that continues after its second refusal is disconnected, and its messages are dropped.
void ZmqLink::State::refused(NodeId node) {
  const auto descriptor = peers_.refused(node);
  if (!descriptor) return;
  direct_.forget(node);
  inbox_.drop_from(node);
  connections_.condemn(*descriptor, steady_now());
}

void ZmqLink::State::lose(std::optional<NodeId> node) {
  if (!node) return;
  nudges_.forget(*node);
  if (!dealers_.contains(*node)) direct_.forget(*node);
  if (auto notice = notice_for(self_, Disconnected{*node})) inbox_.push_back(std::move(*notice));
}

// Peers that were removed from the allow-list since the last check are disconnected, whichever side opened
// the connection.
void ZmqLink::State::look_at_list() {
  if (!keys_.look()) return;
  std::vector<std::pair<NodeId, KeyedEndpoint>> gone;
  for (const auto& [peer, dealer] : dealers_) {
    const auto revoked =
        std::ranges::find_if(dealer.lines, [&](const Dealer::Line& line) { return keys_.revoked(line.key); });
    if (revoked != dealer.lines.end())
      gone.push_back({peer, {split_key(revoked->place).address, revoked->key}});
  }
  for (const auto& [peer, place] : gone) deny(peer, revocation(place));
  for (const NodeId node : peers_.keep_only(*keys_.allowed())) {
    trust_->say(to_string(node) + " is no longer in the allow-list: its messages are dropped");
    lose(node);
  }
  drop_direct_leftovers();
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
void ZmqLink::lend_from(std::shared_ptr<DeviceExchange> devices) { state_->devices = std::move(devices); }
void ZmqLink::on_exchange(std::function<void(NodeId, Exchanged)> tell) {
  state_->on_exchange = std::move(tell);
}
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
bool ZmqLink::is_direct(NodeId peer) const { return state_->is_direct(peer); }
std::uint64_t ZmqLink::dropped() const { return state_->dropped; }
std::uint64_t ZmqLink::denied() const { return state_->denied(); }

}  // namespace steelyard
