// Whom `steelyard` leaves out of a round, and when it asks again.
#include <algorithm>

#include "balancing/allocate/min_max.h"
#include "balancing/policy/share_bounds.h"
#include "balancing/policy/steelyard.h"

namespace steelyard::balancing {
namespace {

constexpr std::uint64_t first_rest = 8, first_late_rest = 64;
// Rounds of the first rest per round that a trial costs: of who was of use before, and of who never was.
constexpr double rest_per_delay = 40, rest_of_useless = 100;
constexpr std::uint64_t soon = 16;      // rounds at work, before which it was of no use
constexpr double little_longer = 1.25;  // than a trial that is due: others are tried with it
// A rest grows up to this many rounds, or to so many times the first if that is more: trials cost next to
// nothing then.
constexpr std::uint64_t long_rest = 64, longer_than_first = 10;
constexpr double rest_gain = 0.02;    // relative: rounds must wait this much longer for who is late
constexpr std::size_t most_late = 8;  // workers looked at in one plan: each costs a solution

}  // namespace

Steelyard::Shares Steelyard::solve(const Request& request, const std::vector<Affine>& curves) {
  call_back(request, curves);
  const std::vector<Bound> limits = share_bounds(request, resting());
  Shares all = min_max(curves, limits, request.positions);
  const bool slow = send_to_rest(request, curves, all, limits);
  if (!slow && !send_the_late_to_rest(request, curves, all)) return all;
  return min_max(curves, share_bounds(request, resting()), request.positions);
}

std::set<std::uint32_t> Steelyard::resting() const {
  std::set<std::uint32_t> slots;
  for (const auto& [slot, rest] : rests_) {
    if (!rest.trying) slots.insert(slot);
  }
  return slots;
}

// Whose time has come is tried: one round in which it must work. So is, at next to no cost, whoever would be
// done about as soon.
void Steelyard::call_back(const Request& request, const std::vector<Affine>& curves) {
  double trial = 0;  // seconds that this round takes for the sake of those that are tried
  for (const bool free : {false, true}) {
    for (std::size_t i = 0; i < request.workers.size(); ++i) {
      const std::uint32_t slot = request.workers[i].slot;
      const auto found = rests_.find(slot);
      if (found == rests_.end() || found->second.trying) continue;
      Rest& rest = found->second;
      const bool due = request.round >= rest.until;
      if (free ? rest.late || curves[i](1) > little_longer * trial : !due) continue;
      rest.trying = true;
      rest.until = request.round;
      if (rest.late) waited_[slot].doubt();
      if (!rest.late) trial = std::max(trial, curves[i](1));
    }
  }
}

// True if anybody new was sent to rest, compared with the split `all`.
bool Steelyard::send_to_rest(const Request& request, const std::vector<Affine>& curves, const Shares& all,
                             const std::vector<Bound>& limits) {
  const Shares best = min_max(curves, with_rest(request, limits), request.positions);
  const double without = longest(curves, best);
  bool sent = false;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const std::uint32_t slot = request.workers[i].slot;
    const auto known = workers_.find(slot);
    const auto rest = rests_.find(slot);
    const bool on_trial = rest != rests_.end() && rest->second.trying;
    if (on_trial && rest->second.until == request.round) continue;  // it has not been measured yet
    // What its link costs is known as it is; the doubt is about its computing.
    const double link = exchange(slot);
    const bool delays = best[i] == 0 && all[i] > 0 && known != workers_.end() &&
                        (curves[i](1) - link) * (1 - std::min(1.0, known->second.doubt(1))) + link > without;
    if (delays) {
      const double delay = (curves[i](1) - without) / (without + std::max(0.0, exchange_));
      const double per_delay = known->second.rounds() < soon ? rest_of_useless : rest_per_delay;
      const std::uint64_t first =
          std::max(first_rest, static_cast<std::uint64_t>(std::min(per_delay * delay, 1000.0)));
      const std::uint64_t longest_rest = std::max(long_rest, longer_than_first * first);
      const std::uint64_t interval = on_trial ? std::min(longest_rest, 2 * rest->second.interval) : first;
      rests_[slot] = {request.round + interval, interval, false, false};
      sent = true;
    } else if (on_trial && !rest->second.late) {
      rests_.erase(rest);
    }
  }
  return sent;
}

// One at a time: without it, the others are waited for more often.
bool Steelyard::send_the_late_to_rest(const Request& request, const std::vector<Affine>& curves,
                                      const Shares& all) {
  const double now = longest(curves, all);
  const std::set<std::uint32_t> already = resting();
  std::size_t looked_at = 0;
  double most = rest_gain * now;
  const WorkerView* latest = nullptr;
  for (std::size_t i = 0; i < all.size() && looked_at < most_late; ++i) {
    const WorkerView& worker = request.workers[i];
    const auto waited = waited_.find(worker.slot);
    if (all[i] == 0 || waited == waited_.end() || !may_rest(worker)) continue;
    const double late = waited->second.surely(), worth = waited->second.worth();
    if (late - worth <= most) continue;
    ++looked_at;
    std::set<std::uint32_t> without = already;
    without.insert(worker.slot);
    const std::vector<Bound> limits = share_bounds(request, without);
    if (limits[i].most > 0) continue;  // the others cannot take the round
    const double lost = longest(curves, min_max(curves, limits, request.positions)) - now;
    const double saved = late - std::max(lost, worth);
    if (saved > most) most = saved, latest = &worker;
  }
  if (latest == nullptr) return false;
  const auto before = rests_.find(latest->slot);
  const bool again = before != rests_.end() && before->second.late;
  const std::uint64_t interval = again ? 2 * before->second.interval : first_late_rest;
  rests_[latest->slot] = {request.round + interval, interval, false, true};
  return true;
}

}  // namespace steelyard::balancing
