#include "balancing/allocate/elastic_barrier.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace steelyard::balancing {

std::vector<std::uint64_t> pieces_before_barrier(std::span<const double> seconds, std::uint64_t lookahead) {
  constexpr double rounding = 1e-9;  // relative
  std::vector<std::uint64_t> pieces(seconds.size(), 1), best = pieces;
  if (seconds.empty() || std::ranges::any_of(seconds, [](double each) { return !(each > 0); })) return best;
  using End = std::pair<double, std::size_t>;  // when, and which worker
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (std::size_t i = 0; i < seconds.size(); ++i) ends.emplace(seconds[i], i);
  double last = std::ranges::max(seconds), least = last - ends.top().first;
  while (pieces[ends.top().second] < lookahead) {
    const std::size_t first = ends.top().second;
    ends.pop();
    const double end = seconds[first] * static_cast<double>(++pieces[first]);
    ends.emplace(end, first);
    last = std::max(last, end);
    const double wait = last - ends.top().first;
    if (wait >= least - rounding * last) continue;
    least = wait, best = pieces;
  }
  return best;
}

}  // namespace steelyard::balancing
