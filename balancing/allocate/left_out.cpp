#include "balancing/allocate/left_out.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing {

std::vector<Bound> LeftOut::bounds(const Request& request) const {
  Request limited = request;
  std::uint64_t most = 0;
  for (WorkerView& worker : limited.workers) {
    const auto rest = rests_.find(worker.slot);
    if (rest != rests_.end() && may_rest(worker)) {
      worker.most = std::min<std::uint64_t>(worker.most, rest->second.trying ? 1 : 0);
      worker.least = worker.most;
    }
    most += std::min(worker.most, most_positions);
  }
  return share_bounds(most >= request.positions ? limited : request);
}

std::vector<Bound> LeftOut::bounds_to_solve(const Request& request) const {
  std::set<std::uint32_t> resting;
  for (const auto& [slot, rest] : rests_) {
    if (!rest.trying) resting.insert(slot);
  }
  return with_rest(request, share_bounds(request, resting));
}

void LeftOut::settle(const Request& request, const std::vector<Affine>& curves,
                     const std::vector<std::uint64_t>& shares, std::uint64_t least) {
  const double time = longest(curves, shares);
  double speeds = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) speeds += shares[i] > 0 ? 1 / curves[i].per_sample : 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const WorkerView& worker = request.workers[i];
    const auto known = rests_.find(worker.slot);
    const bool tried = known != rests_.end() && known->second.trying;
    const double cost = curves[i](1) - time;
    if (shares[i] > 0 || !may_rest(worker) || cost <= 0) {
      if (tried) rests_.erase(known);
    } else if (known == rests_.end()) {
      const double speed = 1 / curves[i].per_sample, gain = time * speed / (speeds + speed);
      const double pays = std::min(std::ceil(cost / gain), static_cast<double>(longest_rest));
      const std::uint64_t rounds = std::min(std::max(static_cast<std::uint64_t>(pays), least), longest_rest);
      rests_[worker.slot] = {.until = request.round, .next = rounds};
    } else if (tried) {
      const std::uint64_t rounds = known->second.next;
      known->second = {.until = request.round + rounds, .next = std::min(2 * rounds, longest_rest)};
    }
  }
}

std::set<std::uint32_t> LeftOut::start_trials(const Request& request) {
  std::set<std::uint32_t> started;
  for (const WorkerView& worker : request.workers) {
    const auto rest = rests_.find(worker.slot);
    if (rest == rests_.end() || rest->second.trying || request.round < rest->second.until) continue;
    rest->second.trying = true;
    started.insert(worker.slot);
  }
  return started;
}

bool LeftOut::trying() const {
  return std::ranges::any_of(rests_, [](const auto& entry) { return entry.second.trying; });
}

}  // namespace steelyard::balancing
