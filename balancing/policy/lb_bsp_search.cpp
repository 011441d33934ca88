// The GPU half of LB-BSP: how the search of leader_straggler.h becomes shares.
#include <algorithm>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/policy/lb_bsp.h"
#include "balancing/policy/share_bounds.h"

namespace steelyard::balancing {
namespace {

constexpr std::uint64_t all_cpus = UINT64_MAX - 1;  // the id of their party; GPUs have their slots

std::uint64_t party(const WorkerView& worker) { return worker.kind == "gpu" ? worker.slot : all_cpus; }

}  // namespace

std::vector<std::uint64_t> LbBsp::plan_searched(const Request& request) {
  if (!split_.same_workers(request)) {
    removed_.clear();
    searching_ = false;
    search_ = {};
    split_ = Split::of(request, split_.adapted(request, share_bounds(request)));
  }
  // A round is looked at once, and only if it was as long as the one to be divided.
  if (last_.take(request, split_) && last_.samples() == request.positions) search(request);
  return split_.adapted(request, share_bounds(request, removed_));
}

void LbBsp::search(const Request& request) {
  const std::vector<Bound> bounds = share_bounds(request, removed_);
  if (!searching_ && all_measured(request)) {
    split_ = Split::of(request, largest_remainder(speeds(request), request.positions, bounds));
    searching_ = true;
    return;
  }
  split_ = Split::of(request, split_.adapted(request, bounds));
  std::vector<LeaderStraggler::Unit> units;
  for (std::size_t i = 0; i < request.workers.size(); ++i) {
    const WorkerView& worker = request.workers[i];
    const LastRound::Work* work = last_.find(worker.slot);
    if (work == nullptr) continue;
    const auto same = [&](const auto& unit) { return unit.id == party(worker); };
    auto unit = std::ranges::find_if(units, same);
    if (unit == units.end()) unit = units.insert(unit, {party(worker), 0, 0, 0});
    unit->seconds = std::max(unit->seconds, work->seconds);
    unit->share += split_.shares[i];
    unit->most += std::min(bounds[i].most, most_positions);
  }
  if (const auto found = search_.next(units)) move(request, *found);
  // What a removed straggler had may be more than its leader can take: then the others share it.
  const std::vector<Bound> now = share_bounds(request, removed_);
  split_ = Split::of(request, split_.adapted(request, now));
  divide_among_cpus(request, now);
}

// What the leader gains and the straggler loses; the party of the CPUs through its first members.
void LbBsp::move(const Request& request, const LeaderStraggler::Move& move) {
  const std::vector<Bound> bounds = share_bounds(request);
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < request.workers.size() && taken < move.samples; ++i) {
    const WorkerView& worker = request.workers[i];
    if (party(worker) != move.from) continue;
    const bool leaves = move.removes && may_rest(worker);
    const std::uint64_t least = leaves ? 0 : bounds[i].least;
    const std::uint64_t part =
        std::min(move.samples - taken, split_.shares[i] - std::min(split_.shares[i], least));
    split_.shares[i] -= part, taken += part;
    if (leaves && split_.shares[i] == 0) removed_.insert(worker.slot);
  }
  for (std::size_t i = 0; i < request.workers.size() && taken > 0; ++i) {
    if (party(request.workers[i]) != move.to) continue;
    const std::uint64_t part = std::min(taken, bounds[i].most - std::min(split_.shares[i], bounds[i].most));
    split_.shares[i] += part, taken -= part;
  }
}

void LbBsp::divide_among_cpus(const Request& request, const std::vector<Bound>& bounds) {
  const std::vector<double> all = speeds(request);
  std::vector<double> weights;
  std::vector<Bound> limits;
  std::vector<std::size_t> members;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < request.workers.size(); ++i) {
    if (party(request.workers[i]) != all_cpus) continue;
    members.push_back(i);
    weights.push_back(all[i]);
    limits.push_back(bounds[i]);
    total += split_.shares[i];
  }
  if (members.empty()) return;
  const std::vector<std::uint64_t> shares = largest_remainder(weights, total, limits);
  for (std::size_t k = 0; k < members.size(); ++k) split_.shares[members[k]] = shares[k];
}

bool LbBsp::all_measured(const Request& request) const {
  return std::ranges::all_of(request.workers,
                             [&](const WorkerView& worker) { return predictors_.contains(worker.slot); });
}

}  // namespace steelyard::balancing
