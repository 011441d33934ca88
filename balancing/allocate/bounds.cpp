#include "balancing/allocate/bounds.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace steelyard::balancing {
namespace {

// Each term is capped, so that adding several "no limit" values does not overflow.
std::uint64_t sum_of_least(std::span<const Bound> bounds) {
  std::uint64_t sum = 0;
  for (const Bound& bound : bounds) sum += std::min(bound.least, most_positions);
  return sum;
}

}  // namespace

void check_feasible(std::span<const Bound> bounds, std::uint64_t total) {
  if (total > most_positions) {
    refuse_setup("a round of " + std::to_string(total) +
                 " positions is too long: lower global_batch to at most " + std::to_string(most_positions));
  }
  std::uint64_t least = 0, most = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i].least > bounds[i].most) {
      refuse_setup("worker " + std::to_string(i) + " of the plan has a smallest share of " +
                   std::to_string(bounds[i].least) + " but a largest of " + std::to_string(bounds[i].most) +
                   ": correct its bounds");
    }
    // Capped one above the longest round: enough to detect that it does not fit.
    least += std::min(bounds[i].least, most_positions + 1);
    most += std::min(bounds[i].most, most_positions + 1);
  }
  if (total < least || total > most) {
    refuse_setup("a round of " + std::to_string(total) + " positions does not fit " +
                 std::to_string(bounds.size()) + " workers that together take from " + std::to_string(least) +
                 " to " + std::to_string(most) +
                 ": change global_batch, the workers' bounds or their number");
  }
}

std::vector<Bound> fitted(std::vector<Bound> bounds, std::uint64_t total) {
  for (Bound& bound : bounds) {
    if (bound.least == 0) bound.least = std::min<std::uint64_t>(1, bound.most);
  }
  // First lowers the requested minima to 1, then drops the one sample that keeps a worker measured.
  for (const std::uint64_t least : {std::uint64_t{1}, std::uint64_t{0}}) {
    if (sum_of_least(bounds) <= total) break;
    for (Bound& bound : bounds) bound.least = std::min(bound.least, least);
  }
  check_feasible(bounds, total);
  return bounds;
}

}  // namespace steelyard::balancing
