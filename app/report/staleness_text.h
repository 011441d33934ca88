// Staleness, for people: how late the pushes of a run came, in steps of their slice. See protocol/messages.h.
#pragma once

#include <string>

#include "protocol/messages.h"

namespace steelyard {

std::uint64_t pushes(const Staleness& staleness);
double mean_of(const Staleness& staleness);  // the last place counts as itself; -1 where nothing was pushed
// The smallest number of steps within which so large a share of the pushes came.
std::uint64_t quantile_of(const Staleness& staleness, double share);
// "2.1 updates on average, half within 2, 95 % within 4, all within 7"; empty where nothing was pushed.
std::string staleness_text(const Staleness& staleness);

}  // namespace steelyard
