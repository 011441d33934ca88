// Nudges: small frames that follow a message whose arrival the other side's kernel has not confirmed.
//
// TCP finds a lost packet by what arrives behind it. Behind the last packet of a message nothing arrives, for
// its sender waits for an answer; so the kernel finds that loss by a timer of 200 ms or more, and all workers
// of a round wait that long. A frame that means nothing, sent a moment later, arrives behind the gap: the
// receiver's kernel reports the gap, and the sender's kernel sends the lost packet at once. The nudge takes
// the same connection, so nothing overtakes anything, and machines know nothing of it.
//
// A connection that has lost nothing lately is looked at when nothing was sent through it for 50 ms, and
// rarely has anything unconfirmed then: there it costs nothing. Each loss that the kernel has mended sets
// that time to a quarter of the connection's round-trip time, 1 ms at least; each look that finds no new loss
// makes it a little longer again.
//
// Pure but for `Look`. One thread, the link's.
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

// Flight: what the kernel reports of a TCP connection, and what it is asked to do where packets get lost.
struct Flight {
  bool unconfirmed = false;    // the other side's kernel has not confirmed all that was sent
  bool unsent = false;         // bytes wait here until some are confirmed
  Duration round_trip{};       // the shortest so far; 0: not measured yet
  std::uint64_t repeated = 0;  // packets that were sent again, in all
};

// Nothing: the descriptor is no TCP connection.
std::optional<Flight> flight_of(int descriptor);

// The connection loses packets: the kernel's timer is to be short (a quarter of the round trip, 8 ms at
// least, instead of 200 ms; Linux 6.15), not to double at once, and the pace is to follow the line rather
// than the losses (BBR). Each setting is left out where the kernel does not have it, or does not allow it.
void expect_losses(int descriptor, const Flight& flight);

class Nudges {
 public:
  // What the kernel reports of a connection, and what is set where it loses packets.
  using Look = std::function<std::optional<Flight>(int descriptor)>;
  using Lossy = std::function<void(int descriptor, const Flight& flight)>;
  explicit Nudges(Look look = flight_of, Lossy lossy = expect_losses)
      : look_(std::move(look)), lossy_(std::move(lossy)) {}

  static constexpr Duration least = std::chrono::milliseconds(1);
  // Receivers confirm a packet that comes alone up to 40 ms later.
  static constexpr Duration patient = std::chrono::milliseconds(50);
  // Without a confirmation, each pause is twice the one before; then the kernel's own timers are left.
  static constexpr int most_in_a_row = 8;

  // The peer is at the other end of this connection.
  void through(NodeId peer, int descriptor);
  void forget(NodeId peer) { lines_.erase(peer); }
  // Something was sent to the peer.
  void sent(NodeId peer, Time now);

  // When nudge() has something to look at; Time::max() if never.
  [[nodiscard]] Time deadline() const { return next_; }
  // The peers that are to be sent a nudge. It is not reported by sent().
  std::vector<NodeId> due(Time now);

 private:
  struct Line {
    int descriptor = -1;
    Duration pause = patient;    // before the first look at what was sent
    int in_a_row = 0;            // nudges since something else was sent
    Time look_at = Time::max();  // never: all is confirmed
    std::uint64_t repeated = 0;  // packets that the kernel had sent again at the last look
    bool lossy = false;
  };

  [[nodiscard]] bool overdue(Line& line, Time now);
  void learn(Line& line, const Flight& flight);

  const Look look_;
  const Lossy lossy_;
  std::map<NodeId, Line> lines_;
  Time next_ = Time::max();  // no line is to be looked at before
};

// A header that no message has, and nothing else. Whether a header frame is one.
Frames nudge_frame();
bool is_nudge(std::span<const std::byte> frame);

}  // namespace steelyard
