// The patterns of heterogeneity that policies are judged on, each a seeded scenario of the arena.
//
// Static ones hold one cluster for 300 rounds, or 400 where the equal split of the first one costs as much as
// many; dynamic ones disturb it for 400, with onsets 20 or more rounds apart (slow) or closer (quick).
#pragma once

#include <vector>

#include "tests/balancing/arena.h"

namespace steelyard::balancing::arena {

// The emulator of LBB Table 2: GTX 1070 twice, M40, GTX 750; two-point lines through its two columns.
std::vector<Machine> lbb_table_2(double noise = 0.02);

std::vector<Scenario> static_patterns(std::uint64_t seed = 0);
std::vector<Scenario> slow_patterns(std::uint64_t seed = 0);
std::vector<Scenario> quick_patterns(std::uint64_t seed = 0);
// Rounds of a millisecond on machines that others use too: heavy-tailed noise, a first round that takes two
// hundred times as long.
std::vector<Scenario> restless_patterns(std::uint64_t seed = 0);
Scenario homogeneous(double noise, std::uint64_t seed = 0);

}  // namespace steelyard::balancing::arena
