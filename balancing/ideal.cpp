#include "balancing/ideal.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"
#include "core/text.h"

namespace steelyard::balancing {
namespace {

// Enough for a steady median, but few enough to follow a changing network.
constexpr std::size_t recent_rounds = 64;
constexpr std::size_t most_marks = 4096;

double longest_compute(const RoundTimes& round) {
  double longest = 0;
  for (const WorkerTime& worker : round.workers) longest = std::max(longest, worker.seconds);
  return longest;
}

using Shares = std::vector<std::uint64_t>;

// Seconds of the slowest worker. The last share is `shorter` grains shorter than stated.
double longest_with_end(const std::vector<Affine>& curves, Shares shares, double shorter) {
  const auto last =
      std::find_if(shares.rbegin(), shares.rend(), [](std::uint64_t share) { return share > 0; });
  if (last == shares.rend()) return 0;
  const auto at = static_cast<std::size_t>(shares.rend() - last) - 1;
  const double end = curves[at](static_cast<double>(shares[at]) - shorter);
  shares[at] = 0;
  return std::max(longest(curves, shares), end);
}

// A round is usable if it took time and a worker computed in it.
bool usable(const RoundTimes& round) {
  const auto worked = [](const WorkerTime& w) {
    return w.share > 0 && w.seconds > 0 && std::isfinite(w.seconds);
  };
  return round.seconds > 0 && std::isfinite(round.seconds) &&
         std::any_of(round.workers.begin(), round.workers.end(), worked);
}

}  // namespace

double IdealMeter::Sums::percent_since(const Sums& before) const {
  const double time = measured - before.measured;
  return time > 0 ? 100 * (ideal - before.ideal) / time : 0;
}

void IdealMeter::add(const RoundTimes& round) {
  const bool in_order = rounds_ == 0 || round.round > last_round_;
  if (!usable(round) || !in_order) return;
  std::set<std::uint32_t> present;
  for (const WorkerTime& worker : round.workers) {
    present.insert(worker.slot);
    curves_[worker.slot].add({static_cast<double>(worker.share), worker.seconds});
  }
  // Drops the curves of absent workers: the slot may return with another machine.
  std::erase_if(curves_, [&](const auto& entry) { return !present.contains(entry.first); });
  remember_exchange(round);
  mark(round.round);
  before_last_ = sums_;  // the mark of a round, too, holds the sums before it
  sums_.ideal += best_compute(round) + median(exchanges_);
  sums_.measured += round.seconds;
  last_round_ = round.round;
  ++rounds_;
}

double IdealMeter::best_compute(const RoundTimes& round) const {
  // A worker that has never computed has no curve: it is left out, as it was in the round.
  std::vector<Affine> curves;
  std::vector<Bound> bounds;
  std::uint64_t positions = 0;
  const std::uint64_t grain = round.grain;
  const auto grains = [grain](std::uint64_t samples) {
    return samples / grain + (samples % grain > 0 ? 1 : 0);
  };
  for (const WorkerTime& worker : round.workers) {
    const AffineWindow& window = curves_.at(worker.slot);
    if (window.empty()) continue;
    const Affine curve = window.curve();
    curves.push_back({curve.fixed, curve.per_sample * static_cast<double>(grain)});
    // A share taken over during the round may lie outside the plan's bounds, but it was possible.
    bounds.push_back({std::min(grains(worker.least), grains(worker.share)),
                      std::max(worker.most / grain, grains(worker.share))});
    positions += worker.share;
  }
  const std::uint64_t total = grains(positions);
  const Shares best = min_max(curves, fitted(std::move(bounds), total), total);
  return longest_with_end(curves, best,
                          static_cast<double>(total * grain - positions) / static_cast<double>(grain));
}

void IdealMeter::remember_exchange(const RoundTimes& round) {
  // Never negative, even if the clocks of a worker and the scheduler disagree about a short round.
  const double exchange = std::max(0.0, round.seconds - longest_compute(round));
  if (exchanges_.size() < recent_rounds) {
    exchanges_.push_back(exchange);
  } else {
    exchanges_[rounds_ % recent_rounds] = exchange;
  }
}

void IdealMeter::mark(std::uint64_t round) {
  if (rounds_ % stride_ != 0) return;
  marks_.push_back({round, sums_});
  if (marks_.size() < most_marks) return;
  // Drops every other mark: half the resolution in the same memory, for runs of any length.
  for (std::size_t i = 0; 2 * i < marks_.size(); ++i) marks_[i] = marks_[2 * i];
  marks_.resize((marks_.size() + 1) / 2);
  stride_ *= 2;
}

double IdealMeter::percent_from(std::uint64_t round) const {
  const auto mark = std::lower_bound(marks_.begin(), marks_.end(), round,
                                     [](const Mark& m, std::uint64_t wanted) { return m.round < wanted; });
  if (mark != marks_.end()) return sums_.percent_since(mark->before);
  return rounds_ > 0 && round <= last_round_ ? percent_of_last() : 0;
}

}  // namespace steelyard::balancing
