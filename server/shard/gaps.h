// What slices miss of a round that is open, as a shard tells it in its heartbeats.
#pragma once

#include <span>
#include <vector>

#include "server/shard/slice_memory.h"
#include "protocol/messages.h"

namespace steelyard {

// Of the slices that have not closed it: each gap once and none joined, the first ones. Two slices that miss
// a half of a piece each are not repaired by pushing the whole again.
std::vector<Interval> first_gaps(const Open& open, std::span<const SliceMemory> slices);

}  // namespace steelyard
