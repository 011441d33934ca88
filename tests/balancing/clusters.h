// Clusters drawn at random. The same draw gives the same cluster, for 300 rounds.
#pragma once

#include "tests/balancing/arena.h"

namespace steelyard::balancing::arena {

// 2 to 16 workers, fixed costs from nothing to more than all else, noise up to 5 %. With `disturbed`, one
// worker is slowed, drifts, is killed or joins late.
Scenario random_cluster(std::uint64_t draw, bool disturbed);

// 1 to 4 GPUs and 0 to 8 CPUs. A GPU takes max(flat, fixed + per_sample x), flat up to 2 to 128 samples;
// every other one holds a part of the round only, as far as all GPUs together hold it or there are CPUs.
// The CPUs are proportional, but for a small fixed cost, and have 0.5 to 20 % of the speed of the fastest
// GPU.
Scenario mixed_cluster(std::uint64_t draw);

}  // namespace steelyard::balancing::arena
