#include "server/gaps.h"

#include <set>

namespace steelyard {
namespace {

constexpr std::size_t most = 16;

}  // namespace

std::vector<Interval> first_gaps(const Open& open, std::span<const SliceMemory> slices) {
  std::set<Interval> gaps;
  for (const SliceMemory& slice : slices) {
    if (slice.version() > open.round) continue;
    for (const Interval& gap : slice.coverage().gaps(open.positions, most)) gaps.insert(gap);
    while (gaps.size() > most) gaps.erase(std::prev(gaps.end()));
  }
  return {gaps.begin(), gaps.end()};
}

}  // namespace steelyard
