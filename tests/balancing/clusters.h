// Random clusters for 300 rounds. The same `draw` gives the same cluster.
#pragma once

#include "tests/balancing/arena.h"

namespace steelyard::balancing::arena {

// 2 to 16 workers, fixed costs from zero to more than all other costs, noise up to 5 %. With `disturbed`, one
// worker slows down, drifts, is killed or joins late.
Scenario random_cluster(std::uint64_t draw, bool disturbed);

// 1 to 4 GPUs and 0 to 8 CPUs. A GPU takes max(flat, fixed + per_sample x), flat up to 2 to 128 samples.
// Every other GPU holds only a part of the round, if all GPUs together hold it or there are CPUs. The times
// of CPUs are proportional except for a small fixed cost; CPUs have 0.5 to 20 % of the speed of the fastest
// GPU.
Scenario mixed_cluster(std::uint64_t draw);

}  // namespace steelyard::balancing::arena
