// Clusters drawn at random: 2 to 16 workers, fixed costs from nothing to more than all else, noise up to 5 %.
#pragma once

#include "tests/balancing/arena.h"

namespace steelyard::balancing::arena {

// The same draw gives the same cluster, for 300 rounds. With `disturbed`, one worker is slowed, drifts, is
// killed or joins late.
Scenario random_cluster(std::uint64_t draw, bool disturbed);

}  // namespace steelyard::balancing::arena
