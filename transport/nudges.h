// Nudges: small frames that follow a message that the other side's kernel has not acknowledged.
//
// TCP detects a lost packet from data that arrives behind it. Nothing arrives behind the last packet of a
// message, because its sender waits for an answer; the kernel then detects the loss by a timer of 200 ms or
// more, and all workers of a round wait that long. A small frame without content, sent soon after, arrives
// behind the gap: the receiver's kernel reports the gap, and the sender's kernel resends the lost packet at
// once. The nudge uses the same connection, so the order is kept and machines never see it.
//
// A connection without recent losses is checked after nothing was sent through it for 50 ms; then it rarely
// has unacknowledged data, so nudges cost nothing. Each loss that the kernel has repaired sets that time to a
// quarter of the connection's round-trip time, 1 ms at least; each check without a new loss lengthens it
// slightly.
//
// Pure except for `Look`. One thread, the link's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/time.h"
#include "protocol/codec.h"
#include "protocol/node.h"

namespace steelyard {

// Flight: the kernel's report on a TCP connection.
struct Flight {
  bool unconfirmed = false;    // the other side's kernel has not acknowledged all bytes sent
  bool unsent = false;         // bytes wait here for acknowledgements
  Duration round_trip{};       // shortest measured; 0: none yet
  std::uint64_t repeated = 0;  // packets retransmitted, in all
};

// Returns std::nullopt if the descriptor is not a TCP connection.
std::optional<Flight> flight_of(int descriptor);

// For a connection that loses packets: requests a short kernel timer (the round trip and a quarter, at least
// 8 ms more instead of 200; Linux 6.15), no doubling at first, and a pace that follows the bandwidth rather
// than the losses (BBR). Settings that the kernel lacks or denies are skipped.
void expect_losses(int descriptor, const Flight& flight);

class Nudges {
 public:
  // How to read the state of a connection, and how to configure one that loses packets.
  using Look = std::function<std::optional<Flight>(int descriptor)>;
  using Lossy = std::function<void(int descriptor, const Flight& flight)>;
  explicit Nudges(Look look = flight_of, Lossy lossy = expect_losses)
      : look_(std::move(look)), lossy_(std::move(lossy)) {}

  static constexpr Duration least = std::chrono::milliseconds(1);
  // Receivers acknowledge a single packet up to 40 ms later.
  static constexpr Duration patient = std::chrono::milliseconds(50);
  // Without an acknowledgement each pause is twice the preceding one; after these nudges only the kernel's
  // timers remain.
  static constexpr int most_in_a_row = 8;

  // This connection now leads to the peer.
  void through(NodeId peer, int descriptor);
  void forget(NodeId peer) { lines_.erase(peer); }
  // A message was sent to the peer.
  void sent(NodeId peer, Time now);

  // When due() has something to check; Time::max() if never.
  [[nodiscard]] Time deadline() const { return next_; }
  // The peers that need a nudge now. The caller must not report nudges through sent().
  std::vector<NodeId> due(Time now);

 private:
  struct Line {
    int descriptor = -1;
    Duration pause = patient;    // from sending to the first check
    int in_a_row = 0;            // nudges since the last message
    Time look_at = Time::max();  // Time::max(): all is acknowledged
    std::uint64_t repeated = 0;  // packets retransmitted until the last check
    bool lossy = false;
  };

  [[nodiscard]] bool overdue(Line& line, Time now);
  void learn(Line& line, const Flight& flight);

  const Look look_;
  const Lossy lossy_;
  std::map<NodeId, Line> lines_;
  Time next_ = Time::max();  // the earliest `look_at`
};

// A header frame that no message has; and whether a frame is one.
Frames nudge_frame();
bool is_nudge(std::span<const std::byte> frame);

}  // namespace steelyard
