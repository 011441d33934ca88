#include "balancing/policy/orchestra.h"

#include <algorithm>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"

namespace steelyard::balancing {
std::vector<std::uint64_t> Orchestra::plan(const Request& request) {
  const std::vector<Bound> bounds = share_bounds(request);
  review(request, bounds);
  return split_.adapted(request, bounds);
}

std::vector<std::uint64_t> Orchestra::steps(const Request& request) {
  paces_ = true;
  review(request, share_bounds(request));
  double sum = 0;
  for (const std::uint64_t steps : split_.shares) sum += static_cast<double>(steps);
  pace_.count_round(sum / static_cast<double>(split_.shares.size()));
  return split_.shares;
}

void Orchestra::review(const Request& request, const std::vector<Bound>& bounds) {
  if (!split_.same_workers(request)) {
    split_ = Split::of(request, paces_ ? steps_before(request) : split_.adapted(request, bounds));
    divided_ = false;
    rounds_ = 0;
    work_.clear();
  } else if (last_.take(request, split_)) {
    learn();
  }
  if (due(request)) divide(request, bounds);
}

// The mean of the others' steps for new workers; 1 for all at first.
std::vector<std::uint64_t> Orchestra::steps_before(const Request& request) const {
  std::vector<double> known;
  for (const WorkerView& worker : request.workers) {
    const auto found = std::ranges::lower_bound(split_.slots, worker.slot);
    const bool there = found != split_.slots.end() && *found == worker.slot;
    known.push_back(
        there ? static_cast<double>(split_.shares[static_cast<std::size_t>(found - split_.slots.begin())])
              : 0);
  }
  fill_with_mean(known);
  std::vector<std::uint64_t> steps;
  for (const double each : known) steps.push_back(static_cast<std::uint64_t>(std::max(1.0, each)));
  return steps;
}

void Orchestra::learn() {
  for (const auto& [slot, done] : last_.work()) {
    TimedBatch& work = work_[slot];
    work.samples += static_cast<double>(done.samples);
    work.seconds += done.seconds;
  }
  ++rounds_;
}

bool Orchestra::due(const Request& request) const {
  if (rounds_ == 0) return false;
  if (!divided_) return true;
  return request.epoch > 0 ? request.epoch != epoch_ : rounds_ >= options_.rounds;
}

void Orchestra::divide(const Request& request, const std::vector<Bound>& bounds) {
  std::vector<double> seconds;  // per position: only ratios matter
  for (const WorkerView& worker : request.workers) {
    const auto found = work_.find(worker.slot);
    seconds.push_back(found == work_.end() ? 0 : found->second.seconds / found->second.samples);
  }
  fill_with_mean(seconds);
  const double barrier = period(request, seconds);
  std::vector<double> steps;
  for (const double one : seconds)
    steps.push_back(static_cast<double>(std::min(most_steps, orchestra::local_steps(barrier, one))));
  split_ = Split::of(request, paces_ ? std::vector<std::uint64_t>(steps.begin(), steps.end())
                                     : largest_remainder(steps, request.positions, bounds));
  divided_ = true;
  epoch_ = request.epoch;
  rounds_ = 0;
  work_.clear();
}

// T, in the unit of `seconds`.
double Orchestra::period(const Request& request, const std::vector<double>& seconds) {
  if (!paces_) return orchestra::best_period(seconds, options_.search).seconds;
  const double longest = std::ranges::max(seconds);
  if (!divided_) {
    pace_.begin(orchestra::best_period(seconds, options_.search).seconds / longest);
  } else if (request.epoch != epoch_) {
    std::vector<double> worked;
    for (std::size_t i = 0; i < seconds.size(); ++i)
      worked.push_back(static_cast<double>(split_.shares[i]) * seconds[i]);
    const double barrier = std::ranges::max(worked);
    std::vector<orchestra::BarrierView::Worker> workers;
    for (std::size_t i = 0; i < seconds.size(); ++i)
      workers.push_back({pace_.longest_batches() * longest / seconds[i], 1 - worked[i] / barrier});
    pace_.next_epoch(workers);
  }
  return pace_.longest_batches() * longest;
}

PolicyTable orchestra_rows(const PredictorTable&) {
  const OrchestraOptions own;
  const auto make = [](const Options& options) {
    OrchestraOptions chosen;
    chosen.unit = options.number("unit");
    chosen.search.most_apart = options.whole("most_apart");
    chosen.rounds = options.whole("rounds");
    chosen.seed = options.whole("seed");
    return std::make_unique<Orchestra>(chosen);
  };
  return {{"orchestra",
           make,
           "once per epoch, by the mini-batches that end before a common barrier (Du et al. 2022)",
           {number_option("unit", own.unit, 0.001, 16,
                          "step of T once per epoch, in longest mini-batches, under sync = \"orchestra\""),
            whole_option("most_apart", own.search.most_apart, 0, 1'000'000,
                         "largest difference in local steps of two workers (M)"),
            rounds_option("rounds", own.rounds, "length of an epoch if requests do not name theirs"),
            whole_option("seed", own.seed, 0, UINT32_MAX, "seed of the actor-critic")}}};
}

}  // namespace steelyard::balancing
