#include "server/shard/gaps.h"

#include <set>

#include "protocol/limits.h"

namespace steelyard {

std::vector<Interval> first_gaps(const Open& open, std::span<const SliceMemory> slices) {
  std::set<Interval> gaps;
  for (const SliceMemory& slice : slices) {
    if (slice.version() > open.round) continue;
    for (const Interval& gap : slice.coverage().gaps(open.positions, limits::gaps)) gaps.insert(gap);
    while (gaps.size() > limits::gaps) gaps.erase(std::prev(gaps.end()));
  }
  return {gaps.begin(), gaps.end()};
}

}  // namespace steelyard
