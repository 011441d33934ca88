// Dealer: this node's connections to one peer: several if the scheduler has several places, else one. Part
// of ZmqLink (transport/zmq_state.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/leader.h"
#include "transport/security/peer_table.h"
#include "transport/security/trust.h"
#include "transport/shared_memory/shared_memory_transfer.h"
#include "transport/zmq_socket.h"

namespace steelyard {

struct Dealer {
  // A connection to one place of the peer.
  struct Line {
    std::string place;
    std::unique_ptr<ZmqSocket> socket;
    std::string key{};  // expected key of the listener; empty: plain text
    Handshakes handshakes{};
    int descriptor = -1;  // of the connection; -1: none yet
  };

  std::string endpoint;
  std::vector<Line> lines;
  std::unique_ptr<SharedMemoryTransfer> lending;  // of a single line; null: no lending
  Leader leader{};                                // if there are several lines

  // The peer has several places, and none is known to lead.
  [[nodiscard]] bool leads_nowhere() const { return lines.size() > 1 && !leader.place(steady_now()); }
  // The connection to send through: the leader's, or the only one.
  [[nodiscard]] Line& line() {
    return lines.size() == 1 ? lines[0] : lines[leader.place(steady_now()).value_or(0)];
  }
};

// The two ends of a connection.
struct Call {
  RoutingId self;
  Traffic traffic;      // of the listener
  std::string place;    // with its key, if it has one
  bool one_of_several;  // places of the peer
};

// Opens a connection, which libzmq retries until it succeeds. `trust`: null for plain text. Throws Failure
// (configuration).
Dealer::Line open_line(zmq::context_t& context, const Trust* trust, const KnownKeys& keys, const Call& call);

}  // namespace steelyard
