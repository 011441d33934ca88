#include "balancing/policy/steelyard/policy_rests.h"

#include <algorithm>
#include <cmath>

#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"

namespace steelyard::balancing {
namespace {

constexpr double shortest_rest = 12, longest_rest = 3'000;  // rounds
constexpr double half_known = 70;  // rounds of work after which a worker counts as useful with probability
                                   // 1/2
constexpr std::uint64_t first_late_rest = 64;
constexpr double patience = 4;  // a trial is given up after this many times its expected time

}  // namespace

double until_trial(double cost, double gain, double worked, double rested) {
  const double of_use = worked * worked / (worked * worked + half_known * half_known);
  const double saved = gain * of_use / (rested + shortest_rest);
  if (cost <= 0) return shortest_rest;
  return saved > 0 ? std::clamp(std::sqrt(2 * cost / saved), shortest_rest, longest_rest) : longest_rest;
}

std::set<std::uint32_t> Rests::resting() const {
  std::set<std::uint32_t> slots;
  for (const auto& [slot, rest] : rests_) {
    if (!rest.trying || (rest.awaited && rest.until < round_)) slots.insert(slot);
  }
  return slots;
}

std::set<std::uint32_t> Rests::on_trial() const {
  std::set<std::uint32_t> slots;
  for (const auto& [slot, rest] : rests_) {
    if (rest.trying && !rest.late) slots.insert(slot);
  }
  return slots;
}

std::vector<std::uint32_t> Rests::call_back(const Request& request) {
  std::vector<std::uint32_t> late;
  for (const WorkerView& worker : request.workers) {
    const auto found = rests_.find(worker.slot);
    if (found == rests_.end() || found->second.trying || request.round < found->second.until) continue;
    Rest& rest = found->second;
    rest.trying = true;
    rest.awaited = !rest.late;
    rest.until = request.round;
    if (rest.late) late.push_back(found->first);
  }
  return late;
}

void Rests::measured(std::uint32_t slot, std::uint64_t round) {
  const auto found = rests_.find(slot);
  if (found != rests_.end() && found->second.trying && round >= found->second.until)
    found->second.awaited = false;
}

// A time may not arrive, because a message was lost or the worker got other work. After a while the worker is
// judged by earlier times, and mostly rests again.
void Rests::stop_waiting(const Request& request, const std::vector<Affine>& curves) {
  const double round = longest(curves, min_max(curves, share_bounds(request, resting()), request.positions));
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto found = rests_.find(request.workers[i].slot);
    if (found == rests_.end() || !found->second.awaited || request.round <= found->second.until) continue;
    const auto waited = static_cast<double>(request.round - found->second.until);
    if (waited * round > patience * (curves[i](1) + shortest_rest * round)) found->second.awaited = false;
  }
}

std::vector<std::uint32_t> Rests::beside_round(const Request& request, const std::vector<Affine>& curves,
                                               const Shares& shares) const {
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto found = rests_.find(request.workers[i].slot);
    if (found == rests_.end() || !found->second.awaited || found->second.until != request.round) continue;
    Shares others = shares;
    others[i] = 0;
    if (shares[i] == 1 && curves[i](1) > longest(curves, others)) slots.push_back(found->first);
  }
  return slots;
}

Rests::Shares Rests::solve(const Request& request, const std::vector<Affine>& curves,
                           const std::vector<Known>& known) {
  round_ = request.round;
  if (std::ranges::any_of(rests_, [](const auto& rest) { return rest.second.awaited; }))
    stop_waiting(request, curves);
  const std::vector<Bound> limits = share_bounds(request, resting());
  Shares all = min_max(curves, limits, request.positions);
  const bool slow =
      rules_.rest && send_to_rest(request, curves, known,
                                  min_max(curves, with_rest(request, limits), request.positions), all);
  const bool late = !slow && rules_.late_rest && send_the_late_to_rest(request, curves, known, all);
  return slow || late ? min_max(curves, share_bounds(request, resting()), request.positions) : all;
}

// True if a worker was sent to rest. `best`: the split if all may rest; `all`: if no further worker rests.
bool Rests::send_to_rest(const Request& request, const std::vector<Affine>& curves,
                         const std::vector<Known>& known, const Shares& best, const Shares& all) {
  const double without = longest(curves, best);
  bool sent = false;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const std::uint32_t slot = request.workers[i].slot;
    const auto rest = rests_.find(slot);
    const bool called = rest != rests_.end() && rest->second.trying, on_trial = called && !rest->second.late;
    // Not yet measured since its return.
    if (called && (rest->second.until == request.round || rest->second.awaited)) continue;
    const double doubt = rules_.rest_doubt ? std::min(1.0, known[i].doubt) : 0;
    const bool delays =
        best[i] == 0 && all[i] > 0 && known[i].worked > 0 && curves[i](1) * (1 - doubt) > without;
    if (delays) {
      const std::uint64_t since = on_trial ? rest->second.since : request.round;
      const double rested = static_cast<double>(request.round - since);
      const double rounds = rules_.trial_law
                                ? until_trial(curves[i](1) - without, known[i].worth, known[i].worked, rested)
                                : 64;
      rests_[slot] = {.since = since, .until = request.round + static_cast<std::uint64_t>(rounds)};
      sent = true;
    } else if (on_trial) {
      rests_.erase(rest);
    }
  }
  return sent;
}

// One at a time, since without it the others are waited for more often. Evaluates only the candidate that
// looks worst, because each costs a solution.
bool Rests::send_the_late_to_rest(const Request& request, const std::vector<Affine>& curves,
                                  const std::vector<Known>& known, const Shares& all) {
  double most = 0;
  std::size_t latest = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == 0 || !may_rest(request.workers[i]) || known[i].late - known[i].worth <= most) continue;
    most = known[i].late - known[i].worth;
    latest = i;
  }
  if (latest == all.size()) return false;
  const std::uint32_t slot = request.workers[latest].slot;
  std::set<std::uint32_t> without = resting();
  without.insert(slot);
  const std::vector<Bound> limits = share_bounds(request, without);
  if (limits[latest].most > 0) return false;  // the others cannot take the round
  const double lost = longest(curves, min_max(curves, limits, request.positions)) - longest(curves, all);
  if (lost >= known[latest].late) return false;
  Rest& rest = rests_[slot];
  const std::uint64_t interval = rest.late ? 2 * rest.interval : first_late_rest;
  rest = {.since = request.round, .until = request.round + interval, .late = true, .interval = interval};
  return true;
}

}  // namespace steelyard::balancing
