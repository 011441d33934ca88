// The patterns of heterogeneity on which policies are compared, each a seeded scenario of the arena.
//
// Static patterns keep one cluster for 300 rounds, or for 400 if the equal split of the first round costs as
// much as many rounds. Dynamic patterns disturb it for 400 rounds, with onsets 20 or more rounds apart (slow)
// or closer (quick).
#pragma once

#include <vector>

#include "tests/balancing/arena.h"

namespace steelyard::balancing::arena {

// The emulator of LBB Table 2: two GTX 1070, an M40 and a GTX 750; lines through the two columns of the
// table.
std::vector<Machine> lbb_table_2(double noise = 0.02);

std::vector<Scenario> static_patterns(std::uint64_t seed = 0);
std::vector<Scenario> slow_patterns(std::uint64_t seed = 0);
std::vector<Scenario> quick_patterns(std::uint64_t seed = 0);
// Rounds of a millisecond on shared machines: heavy-tailed noise, and a first round that takes two hundred
// times as long.
std::vector<Scenario> restless_patterns(std::uint64_t seed = 0);
Scenario homogeneous(double noise, std::uint64_t seed = 0);

}  // namespace steelyard::balancing::arena
