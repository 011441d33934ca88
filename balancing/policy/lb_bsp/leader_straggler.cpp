#include "balancing/policy/lb_bsp/leader_straggler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/text.h"

namespace steelyard::balancing {
namespace {

constexpr double first_step = 0.04;  // of the mean share
constexpr std::uint64_t first_window = 5, longest_window = 80;
constexpr double dead_band = 0.03, far_apart = 0.3;  // spreads

}  // namespace

std::optional<LeaderStraggler::Move> LeaderStraggler::next(std::span<const Unit> units) {
  std::vector<double> times;
  for (const Unit& unit : units) times.push_back(unit.seconds);
  const double spread = relative_spread(times);
  apart_ = spread > far_apart ? apart_ + 1 : 0;
  if (step_ == 0 || apart_ >= first_window) begin(units);

  const Unit *leader = nullptr, *straggler = nullptr;
  for (const Unit& unit : units) {
    if (unit.share < unit.most && (leader == nullptr || unit.seconds < leader->seconds)) leader = &unit;
    if (straggler == nullptr || unit.seconds > straggler->seconds) straggler = &unit;
  }
  if (spread < dead_band || leader == nullptr || leader->id == straggler->id) {
    pair_ = {}, streak_ = 0;
    return std::nullopt;
  }
  const Pair pair{leader->id, straggler->id};
  streak_ = pair == pair_ ? streak_ + 1 : 1;
  pair_ = pair;
  if (streak_ < window_) return std::nullopt;

  streak_ = 0;
  if (moved_ == Pair{pair.straggler, pair.leader}) {
    step_ = std::max<std::uint64_t>(1, step_ / 2);
    window_ = std::min(longest_window, 2 * window_);
  }
  moved_ = pair;
  const bool removes = straggler->share <= step_;
  const std::uint64_t samples = removes ? straggler->share : std::min(step_, leader->most - leader->share);
  return Move{straggler->id, leader->id, samples, removes};
}

void LeaderStraggler::begin(std::span<const Unit> units) {
  double total = 0;
  for (const Unit& unit : units) total += static_cast<double>(unit.share);
  const double mean = units.empty() ? 0 : total / static_cast<double>(units.size());
  step_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(first_step * mean)));
  window_ = first_window;
  moved_ = {};
  apart_ = 0;
}

}  // namespace steelyard::balancing
