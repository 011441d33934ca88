#include "balancing/policy/cannikin.h"

#include <algorithm>

#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"

namespace steelyard::balancing {
namespace {

constexpr double newest = 0.2;  // weight of the newest exchange

}  // namespace

double OverlappedTime::operator()(double samples) const {
  const double computed = compute(samples);
  const double compute_bound = computed + last * exchange;
  const double exchange_bound = (1 - overlap) * computed + exchange;
  return exchange + std::max(compute_bound, exchange_bound);
}

void Cannikin::observe(const Sample& sample) {
  if (!possible(sample)) return;
  last_.add(sample);
  models_.try_emplace(sample.slot, Model{ForgettingLine(options_.forgetting)})
      .first->second.compute.add({static_cast<double>(sample.samples), sample.seconds});
}

std::vector<std::uint64_t> Cannikin::plan(const Request& request) {
  const std::vector<Bound> bounds = share_bounds(request);
  if (!split_.same_workers(request)) {
    keep_only(slots_of(request), models_);
    split_ = Split::of(request, split_.adapted(request, bounds));
  } else if (last_.take(request, split_) && last_.samples() == request.positions) {
    learn_exchange();
    std::vector<Curve> curves;
    for (const OverlappedTime& curve : times(request)) {
      curves.emplace_back([curve](std::uint64_t samples) { return curve(static_cast<double>(samples)); });
    }
    split_ = Split::of(request, min_max(curves, bounds, request.positions));
  }
  return split_.adapted(request, bounds);
}

void Cannikin::learn_exchange() {
  double least = -1;
  for (const auto& [slot, work] : last_.work()) {
    if (work.exchange >= 0) least = least < 0 ? work.exchange : std::min(least, work.exchange);
  }
  for (const auto& [slot, work] : last_.work()) {
    const auto found = models_.find(slot);
    if (work.exchange < 0 || found == models_.end()) continue;
    double& known = found->second.exchange;
    const double now = work.exchange - least;
    known = known < 0 ? now : known + newest * (now - known);
  }
}

// A worker not measured yet counts as the mean of the others, with the best link.
std::vector<OverlappedTime> Cannikin::times(const Request& request) const {
  std::vector<OverlappedTime> all;
  std::vector<double> per_sample;
  for (const WorkerView& worker : request.workers) {
    OverlappedTime time{{}, 0, options_.overlap, options_.last};
    if (const auto found = models_.find(worker.slot); found != models_.end()) {
      time.compute = found->second.compute.curve();
      time.exchange = std::max(0.0, found->second.exchange);
    }
    all.push_back(time);
    per_sample.push_back(time.compute.per_sample);
  }
  fill_with_mean(per_sample);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].compute.per_sample = per_sample[i];
  return all;
}

PolicyTable cannikin_rows(const PredictorTable&) {
  const CannikinOptions own;
  const auto make = [](const Options& options) {
    return std::make_unique<Cannikin>(
        CannikinOptions{options.number("overlap"), options.number("last"), options.number("forgetting")});
  };
  return {{"cannikin",
           make,
           "optimal shares on fitted lines, with exchange overlapped by the backward pass (Nie et al. 2024)",
           {number_option("overlap", own.overlap, 0, below(1),
                          "part of the compute time during which gradients are sent"),
            number_option("last", own.last, 0, 1, "part of the exchange that nothing hides"),
            number_option("forgetting", own.forgetting, 0.5, 1,
                          "forgetting factor of the lines, per measurement; 1: none")}}};
}

}  // namespace steelyard::balancing
