#include "balancing/policy/lb_bsp/leader_straggler.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/text.h"

namespace steelyard::balancing {
namespace {

constexpr double first_step = 0.04;  // of the mean share
constexpr std::uint64_t first_window = 2;
constexpr double far_apart = 0.3;  // spread

}  // namespace

std::optional<LeaderStraggler::Move> LeaderStraggler::next(std::span<const Unit> units) {
  std::vector<double> times;
  past_.emplace_back();
  for (const Unit& unit : units) {
    times.push_back(unit.seconds);
    past_.back().seconds[unit.id] = unit.seconds;
  }
  if (past_.size() > longest_window) past_.pop_front();
  apart_ = relative_spread(times) > far_apart ? apart_ + 1 : 0;
  if (step_ == 0 || apart_ >= first_window) begin(units);

  const Unit *leader = nullptr, *straggler = nullptr;
  for (const Unit& unit : units) {
    if (unit.share < unit.most && (leader == nullptr || unit.seconds < leader->seconds)) leader = &unit;
    if (straggler == nullptr || unit.seconds > straggler->seconds) straggler = &unit;
  }
  if (leader == nullptr) return std::nullopt;
  const Pair pair{leader->id, straggler->id};
  if (!preceded(pair)) return std::nullopt;

  if (closes_a_circle(pair)) {
    step_ = std::max<std::uint64_t>(1, step_ / 2);
    window_ = std::min(longest_window, 2 * window_);
    moves_.clear();
  }
  past_.back().moved = pair;
  moves_.push_back(pair);
  if (moves_.size() > longest_window) moves_.pop_front();
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
  moves_.clear();
  apart_ = 0;
}

bool LeaderStraggler::preceded(const Pair& pair) const {
  if (past_.size() < window_) return false;
  return std::all_of(
      past_.end() - static_cast<std::ptrdiff_t>(window_), past_.end(), [&](const Round& round) {
        const auto leader = round.seconds.find(pair.leader), straggler = round.seconds.find(pair.straggler);
        return leader != round.seconds.end() && straggler != round.seconds.end() &&
               leader->second < straggler->second && round.moved != pair;
      });
}

bool LeaderStraggler::closes_a_circle(const Pair& pair) const {
  std::set<std::uint32_t> reached{pair.leader};  // by samples that left the new leader
  for (std::size_t before = 0; before < reached.size();) {
    before = reached.size();
    for (const Pair& move : moves_) {
      if (reached.contains(move.straggler)) reached.insert(move.leader);
    }
  }
  return reached.contains(pair.straggler);
}

}  // namespace steelyard::balancing
