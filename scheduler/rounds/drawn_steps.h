// Drawn steps: how many local steps each worker takes in a round of a mode with hubs.
//
// As in MLL-SGD (Castiglia, Das, Patterson, ICLR 2021, section 3) time has slots, and in each a worker takes
// a step with the probability p = its speed / that of the quickest; nobody waits for a step that was not
// drawn. The published algorithm counts slots and lets go of samples. Here slots go on until all of a
// round's batches are taken, so that every position counts once. With equal speeds all take the same number
// of steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace steelyard {

// By worker; `batches` in all. Speeds are those that a policy's shares are in proportion to, of which one is
// not 0; what is less than the largest by one, and so by little, is rounded, and as quick. A function of its
// arguments.
std::vector<std::uint64_t> drawn_steps(std::span<const std::uint64_t> shares, std::uint64_t batches,
                                       std::uint64_t seed);

}  // namespace steelyard
