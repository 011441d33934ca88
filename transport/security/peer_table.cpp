#include "transport/security/peer_table.h"

#include <sys/socket.h>
#include <zmq.h>
#include <algorithm>
#include <utility>

#include "protocol/authority.h"

namespace steelyard {
namespace {

std::string refusal(const Handshakes::Place& place, const std::string& what) {
  return "the " + place.who + " at " + place.address + " " + what;
}

constexpr Duration between_trials = std::chrono::seconds(1);

}  // namespace

std::optional<std::string> Handshakes::hear(const SocketEvent& event, const Place& place, Time now) {
  keyed_ = place.keyed;
  switch (event.kind) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      failed_ = 0;
      return std::nullopt;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      return refusal(
          place,
          "does not accept this key: it is not in the allow-list there, or was revoked; add it there with "
          "`steelyard keys add`");
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      if (event.descriptor != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) return std::nullopt;
      return refusal(
          place, place.keyed
                     ? "uses no keys, but this process does: start it with --keys"
                     : "accepts only processes with keys: give --keys DIR, or set STEELYARD_KEYS; a job of "
                       "`steelyard launch` admits further workers only with --insecure");
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      if (!place.keyed || !fails_often(now)) return std::nullopt;
      return refusal(
          place,
          "has another key than expected, or none, and closes every connection: correct its line in the "
          "allow-list here (`steelyard keys list` on its machine shows its key)");
    default:
      return std::nullopt;
  }
}

bool Handshakes::fails_often(Time now) {
  const Duration pause = now - std::exchange(last_failure_, now);
  if (failed_ == 0 || pause >= slow) {
    failed_ = 1;
  } else if (pause >= together) {
    ++failed_;
  }
  return failed_ >= most_failed;
}

bool Denied::add(NodeId node, const std::string& endpoint, const std::string& why, Time now) {
  ++times_;
  const auto [place, first] = nodes_.try_emplace(node);
  Reason& known = place->second;
  const bool is_new = first || known.endpoint != endpoint || known.why != why;
  known = {endpoint, why, now + between_trials};
  return is_new;
}

bool Denied::has(NodeId node, const std::string& endpoint) const {
  const auto known = nodes_.find(node);
  return known != nodes_.end() && known->second.endpoint == endpoint;
}

std::vector<Denied::Trial> Denied::due(Time now) {
  std::vector<Trial> trials;
  for (auto& [node, it] : nodes_) {
    if (now < it.again) continue;
    it.again = Time::max();  // until the retry fails
    trials.push_back({node, it.endpoint});
  }
  return trials;
}

Time Denied::deadline() const {
  Time next = Time::max();
  for (const auto& [node, it] : nodes_) next = std::min(next, it.again);
  return next;
}

Guest* PeerTable::find(NodeId node) {
  const auto found = peers_.find(node);
  return found == peers_.end() ? nullptr : &found->second;
}

bool PeerTable::may_speak(const Received& received, const AllowList* allowed) const {
  const auto known = peers_.find(*received.from);
  const bool is_known = known != peers_.end();
  if (is_known && socket_number(received.identity) < known->second.muted_below) return false;
  if (allowed == nullptr) return true;
  const auto key = allowed->find(received.key);
  if (key == allowed->end() || !may_be(key->second.role, received.from->role)) return false;
  return !is_known || known->second.key == received.key;
}

std::optional<NodeId> PeerTable::remember(const Received& received) {
  const NodeId peer = *received.from;
  Guest& known = peers_[peer];
  if (socket_number(received.identity) < socket_number(known.id))
    return std::nullopt;  // from an older connection
  const bool anew = received.identity != known.id;
  if (anew)
    known = {
        .id = received.identity, .key = received.key, .lending = nullptr, .muted_below = known.muted_below};
  known.descriptor = received.descriptor;
  if (received.descriptor < 0) return std::nullopt;
  const auto [entry, is_new] = by_descriptor_.try_emplace(received.descriptor, Speaker{peer});
  const NodeId former = entry->second.node;
  if (!is_new && former == peer && !anew) return std::nullopt;
  entry->second = Speaker{peer};
  unsettled_.push_back(received.descriptor);
  if (former == peer) {
    servers_.erase(received.descriptor);  // of a former connection with this descriptor
    hold(received.descriptor, peer);
    return std::nullopt;
  }
  // The system reused the descriptor of a closed connection before its end was reported.
  peers_.erase(former);
  const bool lost = closed_there(received.descriptor);
  hold(received.descriptor, peer);
  return lost ? std::optional(former) : std::nullopt;
}

void PeerTable::hold(int descriptor, NodeId peer) {
  if (heartbeats_ && peer.role == Role::shard) servers_.emplace(descriptor, HeldEnd(descriptor));
}

// For nodes other than servers the end of the connection suffices. The system closes our duplicate at last.
bool PeerTable::closed_there(int descriptor) {
  const auto held = servers_.find(descriptor);
  if (held == servers_.end()) return true;
  const bool closed = held->second.closed_there();
  servers_.erase(held);
  return closed;
}

std::vector<NodeId> PeerTable::take(const std::vector<SocketEvent>& events) {
  for (const SocketEvent& event : events) {
    if (event.kind == ZMQ_EVENT_ACCEPTED) ++uses_[event.descriptor].begun;
  }
  settle();
  std::vector<NodeId> lost;
  for (const SocketEvent& event : events) {
    if (event.kind != ZMQ_EVENT_DISCONNECTED) continue;
    if (const auto node = forget(event.descriptor)) lost.push_back(*node);
  }
  return lost;
}

// A peer first seen since the last events may have used the newest use of its descriptor or an earlier one.
// The newest is assumed; if that is wrong, the peer's silence or the next peer on the descriptor corrects it.
void PeerTable::settle() {
  for (const int descriptor : std::exchange(unsettled_, {})) {
    const auto speaker = by_descriptor_.find(descriptor);
    if (speaker != by_descriptor_.end()) speaker->second.use = uses_[descriptor].begun;
  }
}

// Ends a use of the descriptor. Returns its peer if that is lost and has no other connection.
std::optional<NodeId> PeerTable::forget(int descriptor) {
  Uses& uses = uses_[descriptor];
  const std::uint64_t ended = ++uses.ended;
  if (uses.ended >= uses.begun) uses_.erase(descriptor);
  const auto known = by_descriptor_.find(descriptor);
  if (known == by_descriptor_.end() || known->second.use > ended) return std::nullopt;
  const NodeId peer = known->second.node;
  const bool lost = closed_there(descriptor);
  by_descriptor_.erase(known);
  for (const auto& [other, speaker] : by_descriptor_) {
    if (speaker.node == peer) return std::nullopt;  // it has reconnected already
  }
  peers_.erase(peer);
  return lost ? std::optional(peer) : std::nullopt;
}

bool is_last_word(const Message& message) {
  const Refuse* refuse = nullptr;
  if (const auto* to_worker = std::get_if<ToWorker>(&message)) refuse = std::get_if<Refuse>(to_worker);
  if (const auto* to_shard = std::get_if<ToShard>(&message)) refuse = std::get_if<Refuse>(to_shard);
  return refuse != nullptr && refuse->reason != Refusal::replaced;
}

std::optional<int> PeerTable::refused(NodeId node) {
  Guest* guest = find(node);
  if (guest == nullptr || ++guest->refusals < enough_refusals) return std::nullopt;
  guest->muted_below = socket_number(guest->id) + 1;
  return guest->descriptor;
}

// libzmq cannot close a single connection. The descriptor may already belong to another connection: its owner
// then reconnects as after any break. If it is not a connection, nothing happens.
std::vector<NodeId> PeerTable::keep_only(const AllowList& allowed) {
  std::vector<NodeId> gone;
  for (const auto& [node, guest] : peers_)
    if (!allowed.contains(guest.key)) gone.push_back(node);
  for (const NodeId node : gone) {
    peers_.erase(node);
    for (const auto& [descriptor, of] : by_descriptor_)
      if (of.node == node) shutdown(descriptor, SHUT_RDWR), servers_.erase(descriptor);
    std::erase_if(by_descriptor_, [&](const auto& entry) { return entry.second.node == node; });
  }
  return gone;
}

}  // namespace steelyard
