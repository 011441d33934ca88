// How much of a round a worker may be given: what every allocator has to respect.
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <span>
#include <vector>

namespace steelyard::balancing {

// The largest round that allocators accept: sums over a million workers then stay exact in 64 bits, and one
// of them in a double.
inline constexpr std::uint64_t most_positions = std::uint64_t{1} << 40;

// Throws Failure (configuration) with the numbers if no integers within the bounds sum to `total`.
void check_feasible(std::span<const Bound> bounds, std::uint64_t total);

// The bounds that hold for a round of `total`: every worker that may have a sample gets one, since a worker
// without work is never measured again. Where a round is too short for all minima they shrink to 1, and if
// need be to 0. Throws as check_feasible() does.
std::vector<Bound> fitted(std::vector<Bound> bounds, std::uint64_t total);

}  // namespace steelyard::balancing
