// Flight: what the kernel reports of a TCP connection, and what it is asked to do where packets get lost.
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"

namespace steelyard {

struct Flight {
  bool unconfirmed = false;    // the other side's kernel has not confirmed all that was sent
  bool unsent = false;         // bytes wait here until some are confirmed
  Duration round_trip{};       // the shortest so far
  std::uint64_t repeated = 0;  // packets that were sent again, in all
};

// Nothing: the descriptor is no TCP connection.
std::optional<Flight> flight_of(int descriptor);

// The connection loses packets: the kernel's timers are to be short, and its pace is to follow the line rather
// than the losses. Each setting is left out where the kernel has none, or does not allow it.
void expect_losses(int descriptor);

}  // namespace steelyard
