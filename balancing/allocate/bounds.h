// Bounds of a worker's share of a round, which every allocator must respect.
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <span>
#include <vector>

namespace steelyard::balancing {

// The longest round that allocators accept: sums over a million workers are then exact in 64 bits, and one
// share in a double.
inline constexpr std::uint64_t most_positions = std::uint64_t{1} << 40;

// Throws Failure (configuration) with the numbers if no integers within the bounds sum to `total`.
void check_feasible(std::span<const Bound> bounds, std::uint64_t total);

// The bounds for a round of `total` positions. Every worker that may have a sample gets at least one, since a
// worker without work is never measured again. If the round is too short for all minima, they shrink to 1,
// and then to 0. Throws as check_feasible() does.
std::vector<Bound> fitted(std::vector<Bound> bounds, std::uint64_t total);

}  // namespace steelyard::balancing
