#include "wire/transport/guests.h"

#include <sys/socket.h>

#include <utility>

#include "wire/authority.h"

namespace steelyard {

Guest* Guests::find(NodeId node) {
  const auto found = guests_.find(node);
  return found == guests_.end() ? nullptr : &found->second;
}

bool Guests::may_speak(const Received& received, const AllowList* allowed) const {
  if (allowed == nullptr) return true;
  const auto key = allowed->find(received.key);
  if (key == allowed->end() || !may_be(key->second.role, received.from->role)) return false;
  const auto known = guests_.find(*received.from);
  return known == guests_.end() || known->second.key == received.key;
}

std::optional<NodeId> Guests::remember(const Received& received) {
  const NodeId peer = *received.from;
  Guest& known = guests_[peer];
  if (socket_number(received.identity) < socket_number(known.id))
    return std::nullopt;  // late words of an older connection
  if (received.identity != known.id) known = {received.identity, received.key, nullptr};
  if (received.descriptor < 0) return std::nullopt;
  const auto [entry, is_new] = by_descriptor_.try_emplace(received.descriptor, peer);
  if (is_new) hold(received.descriptor, peer);
  if (is_new || entry->second == peer) return std::nullopt;
  // The system gave the number of a finished connection to a new one before we heard of the end.
  const NodeId former = std::exchange(entry->second, peer);
  ++stale_disconnects_[received.descriptor];
  guests_.erase(former);
  const bool lost = closed_there(received.descriptor);
  hold(received.descriptor, peer);
  return lost ? std::optional(former) : std::nullopt;
}

void Guests::hold(int descriptor, NodeId peer) {
  if (heartbeats_ && peer.role == Role::shard) servers_.emplace(descriptor, HeldEnd(descriptor));
}

// Of any other node the end of its connection is enough. The system closes ours at last.
bool Guests::closed_there(int descriptor) {
  const auto held = servers_.find(descriptor);
  if (held == servers_.end()) return true;
  const bool closed = held->second.closed_there();
  servers_.erase(held);
  return closed;
}

std::optional<NodeId> Guests::forget(int descriptor) {
  const auto stale = stale_disconnects_.find(descriptor);
  if (stale != stale_disconnects_.end()) {
    if (--stale->second == 0) stale_disconnects_.erase(stale);
    return std::nullopt;
  }
  const auto known = by_descriptor_.find(descriptor);
  if (known == by_descriptor_.end()) return std::nullopt;
  const NodeId peer = known->second;
  const bool lost = closed_there(descriptor);
  by_descriptor_.erase(known);
  for (const auto& [other, node] : by_descriptor_) {
    if (node == peer) return std::nullopt;  // it has come back through another connection already
  }
  guests_.erase(peer);
  return lost ? std::optional(peer) : std::nullopt;
}

// libzmq has no way to end one connection. Its descriptor may belong to another by now: then that one is made
// anew by who had it, as after any break, and for what is no connection nothing happens.
std::vector<NodeId> Guests::keep_only(const AllowList& allowed) {
  std::vector<NodeId> gone;
  for (const auto& [node, guest] : guests_)
    if (!allowed.contains(guest.key)) gone.push_back(node);
  for (const NodeId node : gone) {
    guests_.erase(node);
    for (const auto& [descriptor, of] : by_descriptor_)
      if (of == node) shutdown(descriptor, SHUT_RDWR), servers_.erase(descriptor);
    std::erase_if(by_descriptor_, [&](const auto& entry) { return entry.second == node; });
  }
  return gone;
}

}  // namespace steelyard
