// PeerTable: who has come to a listening socket, and through which connection, as far as its messages tell.
//
// A peer is known by the routing identity of its last connection, and gone when that ends. The socket's
// monitor names connections by their descriptors, which the system uses again, and its news come later than
// messages do. So the uses of a descriptor are counted, and the end of a former use is not taken for that of
// a later one.
//
// Where keys are used, a peer is who its key says (protocol/keys.h): a message whose routing identity claims
// another role than the key has, or another holder's node, is not taken; and who has been taken from the
// allow-list is a guest no more.
//
// A server whose control connection has ended is lost only if its own system closed it
// (transport/connections.h): one that does not answer heartbeats may be stopped, and have the only copy of
// a part of the model. So of a server "lost" is proof, and its silence is judged by the scheduler.
//
// One thread, the link's. Nodes that are lost are returned.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "protocol/keys.h"
#include "protocol/node.h"
#include "transport/connections.h"
#include "transport/shared_memory/shared_memory_transfer.h"
#include "transport/zmq_socket.h"

namespace steelyard {

// Handshakes: what becomes of the attempts of an outward connection to be let in, and the end of patience: a
// sentence that says why, and what to do. libzmq itself tries for ever, or gives up without a word.
class Handshakes {
 public:
  struct Place {  // for messages
    std::string who, address;
    bool keyed;  // whether this end uses keys
  };

  // An event of the connection's monitor. Why the other side is not to be reached, if that is known now: a
  // key that is not let in, another key than is expected there, or keys at one end only.
  [[nodiscard]] std::optional<std::string> hear(const SocketEvent& event, const Place& place);
  // The last attempt failed before anything was said: libzmq tries again, and nothing is lost.
  [[nodiscard]] bool goes_on() const { return keyed_ && failed_ > 0; }

 private:
  // One may fail because the other side has just ended; libzmq waits a tenth of a second, then twice as long.
  static constexpr int most_failed = 5;

  bool keyed_ = false;
  int failed_ = 0;  // in a row
};

// Denied: nodes that this process cannot connect to for good reasons - their allow-list or ours, another key
// than is expected, keys at one end only. Each is tried again once a second, for lists are mended while a job
// runs.
//
// One thread, the link's. Is told the time.
class Denied {
 public:
  // An attempt has failed. Whether that, or the reason, is new.
  bool add(NodeId node, const std::string& endpoint, const std::string& why, Time now);
  // It is connected now, or nobody wants it to be any more. Whether it was denied until now.
  bool remove(NodeId node) { return nodes_.erase(node) > 0; }
  [[nodiscard]] bool has(NodeId node, const std::string& endpoint) const;

  struct Trial {
    NodeId node;
    std::string endpoint;
  };
  // Those whose turn it is, which is over then.
  std::vector<Trial> due(Time now);
  [[nodiscard]] Time deadline() const;  // of the next turn

  [[nodiscard]] std::uint64_t times() const { return times_; }  // that an attempt has failed, in all

 private:
  struct Reason {
    std::string endpoint, why;
    Time again;
  };
  std::map<NodeId, Reason> nodes_;
  std::uint64_t times_ = 0;
};

struct Guest {
  RoutingId id{};
  std::string key;                                // empty: plain text
  std::unique_ptr<SharedMemoryTransfer> lending;  // once it has introduced itself
  int descriptor = -1;                            // of its connection; -1: not known
  int refusals = 0;                               // that it was sent
  std::uint64_t muted_below = 0;                  // nothing is heard of its sockets with a lower number
};

// Whether it is a refusal after which its receiver has nothing to ask. One that was replaced begins anew.
bool is_last_word(const Message& message);

class PeerTable {
 public:
  static constexpr int enough_refusals = 2;
  // Of a socket for this traffic.
  explicit PeerTable(Traffic traffic = Traffic::bulk) : heartbeats_(traffic == Traffic::control) {}

  Guest* find(NodeId node);
  std::map<NodeId, Guest>& all() { return peers_; }

  // Whether a message may be heard. `allowed` is null where there are no keys. What comes through a
  // connection after the second refusal is not.
  [[nodiscard]] bool may_speak(const Received& received, const AllowList* allowed) const;

  // Its speaker has the connection that it came through. Returns who had that before, if anybody had.
  std::optional<NodeId> remember(const Received& received);
  // All events that are there, in order, once all messages that are there have been remembered. Returns whose
  // connections have ended and who has no other, where that is the node's loss.
  std::vector<NodeId> take(const std::vector<SocketEvent>& events);

  // It was sent a refusal. At the second one its connection's descriptor is returned.
  std::optional<int> refused(NodeId node);

  // Whoever is on the list no more goes, and its connections are cut.
  std::vector<NodeId> keep_only(const AllowList& allowed);

 private:
  void hold(int descriptor, NodeId peer);
  [[nodiscard]] bool closed_there(int descriptor);
  struct Speaker {
    NodeId node;
    std::uint64_t use = 0;  // which of the descriptor's; 0: not known before the next events
  };
  struct Uses {  // of a descriptor
    std::uint64_t begun = 0, ended = 0;
  };
  void settle();
  std::optional<NodeId> forget(int descriptor);

  const bool heartbeats_;  // libzmq ends connections whose other end does not answer
  std::map<NodeId, Guest> peers_;
  std::map<int, HeldEnd> servers_;        // by descriptor
  std::map<int, Speaker> by_descriptor_;  // through which connection a peer was last heard
  std::map<int, Uses> uses_;
  std::vector<int> unsettled_;  // descriptors whose speakers came since the last events
};

}  // namespace steelyard
