#include "server/shard/holes.h"

#include <algorithm>

namespace steelyard {

bool cover_holes(const Open& open, std::span<SliceMemory> slices) {
  if (open.holes.empty()) return true;
  IntervalSet holes;
  for (const Interval& hole : open.holes) {
    if (!hole.valid() || hole.empty() || !open.positions.contains(hole) || !holes.add_if_absent(hole))
      return false;
  }
  const auto is_at = [&](const SliceMemory& it) { return it.version() == open.round; };
  if (holes.count() >= open.positions.size() || !std::ranges::all_of(slices, is_at)) return false;
  for (SliceMemory& slice : slices) {
    for (const Interval& hole : holes.intervals()) slice.cover(open.round, hole);
  }
  return true;
}

}  // namespace steelyard
