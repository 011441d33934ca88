#include "balancing/allocate/split.h"

#include <algorithm>
#include <numeric>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/policy/static_profile.h"
#include "core/check.h"
#include "core/text.h"

namespace steelyard::balancing {

std::vector<Bound> share_bounds(const Request& request) {
  CHECK(!request.workers.empty(), "a plan needs workers");
  std::vector<Bound> bounds;
  for (const WorkerView& worker : request.workers) bounds.push_back({worker.least, worker.most});
  return fitted(std::move(bounds), request.positions);
}

std::vector<Bound> share_bounds(const Request& request, const std::set<std::uint32_t>& resting) {
  Request awake = request;
  std::uint64_t most = 0;
  for (WorkerView& worker : awake.workers) {
    if (may_rest(worker) && resting.contains(worker.slot)) worker.least = worker.most = 0;
    most += std::min(worker.most, most_positions);
  }
  return share_bounds(most >= request.positions ? awake : request);
}

std::vector<Bound> with_rest(const Request& request, std::vector<Bound> bounds) {
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (may_rest(request.workers[i])) bounds[i].least = 0;
  }
  return bounds;
}

// A worker with a requested minimum must not rest.
bool may_rest(const WorkerView& worker) { return worker.may_rest && worker.least <= 1; }

namespace {

constexpr double next_to_nothing = 1e-6;  // weight of a known share of 0, which is not an unknown share

constexpr double shortest_time = 1e-9;  // seconds; shorter times are clock errors, not fast workers

}  // namespace

Split Split::of(const Request& request, std::vector<std::uint64_t> shares) {
  Split split;
  for (const WorkerView& worker : request.workers) split.slots.push_back(worker.slot);
  split.shares = std::move(shares);
  return split;
}

std::uint64_t Split::total() const { return std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}); }

bool Split::same_workers(const Request& request) const {
  return std::equal(slots.begin(), slots.end(), request.workers.begin(), request.workers.end(),
                    [](std::uint32_t slot, const WorkerView& worker) { return slot == worker.slot; });
}

bool Split::made_for(const Request& request) const {
  return same_workers(request) && total() == request.positions;
}

bool Split::fits(const Request& request, const std::vector<Bound>& bounds) const {
  if (!made_for(request)) return false;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] < bounds[i].least || shares[i] > bounds[i].most) return false;
  }
  return true;
}

std::vector<std::uint64_t> Split::adapted(const Request& request, const std::vector<Bound>& bounds) const {
  if (fits(request, bounds)) return shares;
  if (empty()) {
    const std::vector<Cubic> curves = profiled_curves({}, request);
    if (!curves.empty()) return profile_split(curves, request, bounds);
  }
  std::vector<double> weights;
  std::size_t next = 0;
  for (const WorkerView& worker : request.workers) {
    while (next < slots.size() && slots[next] < worker.slot) ++next;
    const bool known = next < slots.size() && slots[next] == worker.slot;
    weights.push_back(known ? std::max(static_cast<double>(shares[next]), next_to_nothing) : 0);
  }
  fill_with_mean(weights);
  return largest_remainder(weights, request.positions, bounds);
}

std::set<std::uint32_t> slots_of(const Request& request) {
  std::set<std::uint32_t> slots;
  for (const WorkerView& worker : request.workers) slots.insert(worker.slot);
  return slots;
}

void fill_with_mean(std::vector<double>& values) {
  std::vector<double> known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known), [](double v) { return v > 0; });
  const double filling = known.empty() ? 1 : mean(known);
  for (double& value : values) {
    if (!(value > 0)) value = filling;
  }
}

double longest(const std::vector<Affine>& curves, const std::vector<std::uint64_t>& shares) {
  double time = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] > 0) time = std::max(time, curves[i](static_cast<double>(shares[i])));
  }
  return time;
}

bool possible_time(double seconds) { return seconds >= shortest_time && seconds <= longest_time; }

bool possible(const Sample& sample) { return sample.samples > 0 && possible_time(sample.seconds); }

void LastRound::add(const Sample& sample) {
  if (!possible(sample) || sample.round < round_) return;
  if (sample.round > round_) {
    round_ = sample.round;
    taken_ = false;
    work_.clear();
  }
  Work& work = work_[sample.slot];
  work.samples += sample.samples;
  work.seconds += sample.seconds;
  work.exchange = std::max(work.exchange, sample.exchange);
}

bool LastRound::take(const Request& request, const Split& split) {
  if (taken_ || work_.empty() || !split.same_workers(request)) return false;
  for (std::size_t i = 0; i < split.slots.size(); ++i) {
    if (split.shares[i] > 0 && !work_.contains(split.slots[i])) return false;
  }
  taken_ = true;
  return true;
}

const LastRound::Work* LastRound::find(std::uint32_t slot) const {
  const auto found = work_.find(slot);
  return found == work_.end() ? nullptr : &found->second;
}

std::uint64_t LastRound::samples() const {
  std::uint64_t sum = 0;
  for (const auto& [slot, work] : work_) sum += work.samples;
  return sum;
}

}  // namespace steelyard::balancing
