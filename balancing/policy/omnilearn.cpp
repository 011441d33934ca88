#include "balancing/policy/omnilearn.h"

#include <algorithm>
#include <cmath>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"

namespace steelyard::balancing {
std::vector<std::uint64_t> OmniLearn::plan(const Request& request) {
  const std::vector<Bound> bounds = share_bounds(request);
  if (!split_.same_workers(request)) {
    split_ = Split::of(request, split_.adapted(request, bounds));
    seconds_.clear();
  } else if (last_.take(request, split_) && split_.made_for(request) &&
             last_.samples() == request.positions) {
    smooth();
    adjust(request, bounds);
  }
  return split_.adapted(request, bounds);
}

// Excludes work that the worker did for others in the round.
void OmniLearn::smooth() {
  for (std::size_t i = 0; i < split_.slots.size(); ++i) {
    const LastRound::Work* work = last_.find(split_.slots[i]);
    if (work == nullptr || split_.shares[i] == 0) continue;
    const double own = static_cast<double>(split_.shares[i]) / static_cast<double>(work->samples);
    const double now = work->seconds * own;
    const auto [known, is_new] = seconds_.try_emplace(split_.slots[i], now);
    if (!is_new) known->second += options_.smoothing * (now - known->second);
  }
}

void OmniLearn::adjust(const Request& request, const std::vector<Bound>& bounds) {
  double sum = 0;
  for (const auto& [slot, seconds] : seconds_) sum += seconds;
  const double mean = sum / static_cast<double>(seconds_.size());
  std::vector<double> batches;
  double furthest = 0;
  for (std::size_t i = 0; i < split_.slots.size(); ++i) {
    const auto batch = static_cast<double>(split_.shares[i]);
    const auto found = seconds_.find(split_.slots[i]);
    const double change = found == seconds_.end() ? 0 : options_.gain * (mean / found->second - 1);
    furthest = std::max(furthest, std::abs(change));
    // With a gain above 1, the result may be negative.
    batches.push_back(batch * std::max(0.0, 1 + change));
  }
  if (furthest <= options_.dead_band) return;
  split_ = Split::of(request, largest_remainder(batches, request.positions, bounds));
  seconds_.clear();
}

PolicyTable omnilearn_rows(const PredictorTable&) {
  const OmniLearnOptions own;
  const auto make = [](const Options& options) {
    return std::make_unique<OmniLearn>(
        OmniLearnOptions{options.number("gain"), options.number("dead_band"), options.number("smoothing")});
  };
  return {
      {"omnilearn",
       make,
       "moves all workers to the mean time, in proportion to the error (Tyagi et al. 2025)",
       {number_option("gain", own.gain, 0.01, below(2), "part of the error in time that one move corrects"),
        number_option("dead_band", own.dead_band, 0, below(1),
                      "relative change of a share below which nothing moves"),
        number_option("smoothing", own.smoothing, 0.01, 1, "weight of the newest time; 1: none")}}};
}

}  // namespace steelyard::balancing
