// PeerTable: the peers of a listening socket and their connections, as learned from their messages.
//
// A peer is known by the routing identity of its last connection, until that closes. The socket's monitor
// names connections by descriptor, which the system reuses, and reports later than messages arrive. Therefore
// the uses of a descriptor are counted, so that the end of a former use does not count as the end of a later
// one.
//
// With keys, a peer's key determines its role (protocol/keys.h): a message is dropped if its routing identity
// claims another role than the key has, or the node of another key. A peer that is removed from the
// allow-list is removed from the table.
//
// After its control connection has closed, a server is lost only if its own system closed it
// (transport/connections.h). A server that does not answer heartbeats may be stopped and hold the only copy
// of a part of the model. So a server reported as lost is certainly gone; the scheduler judges silent ones.
//
// One thread, the link's. Lost nodes are returned to the caller.
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

// Handshakes: counts the failed handshakes of an outgoing connection and decides when to give up, with a
// sentence that has cause and remedy. libzmq itself retries forever, or gives up silently.
class Handshakes {
 public:
  struct Place {  // for messages
    std::string who, address;
    bool keyed;  // whether this process uses keys
  };

  // Takes an event of the connection's monitor, read at `now`. Returns why the peer cannot be reached, once
  // that is known: it does not accept this key, has another key than expected, or keys are used at one end
  // only.
  [[nodiscard]] std::optional<std::string> hear(const SocketEvent& event, const Place& place, Time now);
  // The last handshake failed before any message was sent: libzmq retries, and nothing is lost.
  [[nodiscard]] bool goes_on() const { return keyed_ && failed_ > 0; }

 private:
  bool fails_often(Time now);

  // A handshake may fail because the other process has just exited. libzmq retries after 0.05 to 0.2 s.
  static constexpr int most_failed = 5;
  // Events that this thread has read together count once.
  static constexpr Duration together = milliseconds(25);
  // A listener with another key closes the connection at once. One that is overloaded or stopped closes it
  // after a second of silence (transport/connections.h), or libzmq does after three.
  static constexpr Duration slow = std::chrono::seconds(1);

  bool keyed_ = false;
  int failed_ = 0;  // in a row, without long pauses
  Time last_failure_;
};

// Denied: nodes to which this process may not connect: because of their allow-list or ours, another key than
// expected, or keys at one end only. Each is retried once a second, because lists may be corrected while a
// job runs.
//
// One thread, the link's; callers pass the time.
class Denied {
 public:
  // Records a failed attempt. Returns whether the denial or its reason is new.
  bool add(NodeId node, const std::string& endpoint, const std::string& why, Time now);
  // The node is connected, or no longer wanted. Returns whether it was denied until now.
  bool remove(NodeId node) { return nodes_.erase(node) > 0; }
  [[nodiscard]] bool has(NodeId node, const std::string& endpoint) const;

  struct Trial {
    NodeId node;
    std::string endpoint;
  };
  // Nodes to retry now; each is returned once for each turn.
  std::vector<Trial> due(Time now);
  [[nodiscard]] Time deadline() const;  // time of the next retry

  [[nodiscard]] std::uint64_t times() const { return times_; }  // failed attempts, in all

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
  std::unique_ptr<SharedMemoryTransfer> lending;  // set by its Introduction
  int descriptor = -1;                            // of its connection; -1: unknown
  int refusals = 0;                               // refusals sent to it
  std::uint64_t muted_below = 0;                  // messages of its sockets with a lower number are dropped
};

// Whether it is a final refusal. After `replaced` the receiver rejoins, so that one is not.
bool is_last_word(const Message& message);

class PeerTable {
 public:
  static constexpr int enough_refusals = 2;
  // `traffic`: that of the socket.
  explicit PeerTable(Traffic traffic = Traffic::bulk) : heartbeats_(traffic == Traffic::control) {}

  Guest* find(NodeId node);
  std::map<NodeId, Guest>& all() { return peers_; }

  // Whether to accept a message. `allowed` is null without keys. Messages that come through a connection
  // after its second refusal are not accepted.
  [[nodiscard]] bool may_speak(const Received& received, const AllowList* allowed) const;

  // Assigns the connection of the message to its sender. Returns the node that had the connection before, if
  // any.
  std::optional<NodeId> remember(const Received& received);
  // Call with all pending events, in order, after remember() for all pending messages. Returns the nodes that
  // are lost because their last connection closed.
  std::vector<NodeId> take(const std::vector<SocketEvent>& events);

  // A refusal was sent to this node. At the second one, returns the descriptor of its connection.
  std::optional<int> refused(NodeId node);

  // Removes peers that are not on the list, closes their connections and returns them.
  std::vector<NodeId> keep_only(const AllowList& allowed);

 private:
  void hold(int descriptor, NodeId peer);
  [[nodiscard]] bool closed_there(int descriptor);
  struct Speaker {
    NodeId node;
    std::uint64_t use = 0;  // the descriptor's use; 0: unknown until the next events
  };
  struct Uses {  // of a descriptor
    std::uint64_t begun = 0, ended = 0;
  };
  void settle();
  std::optional<NodeId> forget(int descriptor);

  const bool heartbeats_;  // libzmq closes connections without heartbeats
  std::map<NodeId, Guest> peers_;
  std::map<int, HeldEnd> servers_;        // by descriptor
  std::map<int, Speaker> by_descriptor_;  // the peer of each connection's last message
  std::map<int, Uses> uses_;
  std::vector<int> unsettled_;  // descriptors with a first message since the last events
};

}  // namespace steelyard
