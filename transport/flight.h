// Flight: what the kernel reports of a TCP connection, and what it is asked to do where packets get lost.
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"

namespace steelyard {

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

}  // namespace steelyard
