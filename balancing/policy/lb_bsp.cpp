#include "balancing/policy/lb_bsp.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/policy/share_bounds.h"
#include "balancing/predict/predictors.h"
#include "balancing/state.h"
#include "core/stats.h"

namespace steelyard::balancing {
namespace {

constexpr char title[] = "lb-bsp.1";
constexpr double shortest_time = 1e-9;         // seconds; less is a broken clock, not a fast worker
constexpr std::size_t most_workers = 1 << 20;  // that a saved state may have

}  // namespace

LbBsp::LbBsp(LbBspOptions options) : options_(std::move(options)) {
  make_predictor(options_.predictor, 0);  // an unknown name is found here, not in the first round
}

void LbBsp::observe(const Sample& sample) {
  const bool possible =
      sample.samples > 0 && sample.seconds >= shortest_time && std::isfinite(sample.seconds);
  if (!possible) return;
  const double speed = static_cast<double>(sample.samples) / sample.seconds;
  predictor(sample.slot).observe(speed, sample.cpu, sample.memory);
}

std::vector<std::uint64_t> LbBsp::plan(const Request& request) {
  const std::vector<Bound> bounds = share_bounds(request);
  forget_absent(request);
  // v, x and t as in the header's equation.
  const std::vector<double> v = speeds(request);
  if (may_stay(request, bounds, v)) {
    ++split_.rested;
    return split_.shares;
  }
  split_ = {};
  for (const WorkerView& worker : request.workers) split_.slots.push_back(worker.slot);
  split_.shares = largest_remainder(v, request.positions, bounds);
  return split_.shares;
}

// Seeded by the slot: workers learn independently, and every run learns alike.
Predictor& LbBsp::predictor(std::uint32_t slot) {
  std::unique_ptr<Predictor>& found = predictors_[slot];
  if (!found) found = make_predictor(options_.predictor, slot);
  return *found;
}

// Memory is bounded by the living, and a late sample of someone who left does not outlast the next plan.
void LbBsp::forget_absent(const Request& request) {
  std::set<std::uint32_t> present;
  for (const WorkerView& worker : request.workers) present.insert(worker.slot);
  std::erase_if(predictors_, [&](const auto& entry) { return !present.contains(entry.first); });
}

std::vector<double> LbBsp::speeds(const Request& request) const {
  std::vector<double> all, measured;
  for (const WorkerView& worker : request.workers) {
    const auto found = predictors_.find(worker.slot);
    all.push_back(found == predictors_.end() ? 0 : found->second->predict(worker.cpu, worker.memory));
    if (all.back() > 0) measured.push_back(all.back());
  }
  // With nobody measured any number will do: only ratios count.
  const double unknown = measured.empty() ? 1 : mean(measured);
  for (double& speed : all) {
    if (speed <= 0) speed = unknown;
  }
  return all;
}

bool LbBsp::may_stay(const Request& request, const std::vector<Bound>& bounds,
                     const std::vector<double>& speeds) const {
  // Only a split of the same positions among the same workers can stay; 0 shares have no time to compare, and
  // give a spread that is always too large.
  const std::size_t n = request.workers.size();
  if (split_.shares.size() != n || split_.rested >= longest_rest) return false;
  if (std::accumulate(split_.shares.begin(), split_.shares.end(), std::uint64_t{0}) != request.positions)
    return false;
  std::vector<double> times(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t share = split_.shares[i];
    const bool valid =
        split_.slots[i] == request.workers[i].slot && bounds[i].least <= share && share <= bounds[i].most;
    if (!valid) return false;
    times[i] = static_cast<double>(share) / speeds[i];
  }
  return relative_spread(times) < options_.dead_band;
}

std::unique_ptr<Policy> LbBsp::clone() const {
  auto copy = std::make_unique<LbBsp>(options_);
  for (const auto& [slot, predictor] : predictors_) copy->predictors_[slot] = predictor->clone();
  copy->split_ = split_;
  return copy;
}

std::string LbBsp::save() const {
  StateWriter writer(title);
  writer.count(predictors_.size());
  for (const auto& [slot, predictor] : predictors_) writer.count(slot).text(predictor->save());
  writer.count(split_.rested).count(split_.slots.size());
  for (std::size_t i = 0; i < split_.slots.size(); ++i) writer.count(split_.slots[i]).count(split_.shares[i]);
  return writer.str();
}

void LbBsp::restore(const std::string& text) {
  StateReader reader(text, title);
  LbBsp restored(options_);
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    const auto slot = static_cast<std::uint32_t>(reader.count(UINT32_MAX));
    restored.predictor(slot).restore(reader.text());
  }
  restored.split_.rested = reader.count();
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    restored.split_.slots.push_back(static_cast<std::uint32_t>(reader.count(UINT32_MAX)));
    restored.split_.shares.push_back(reader.count(most_positions));
  }
  reader.end();
  // Only now, when nothing can be refused any more.
  *this = std::move(restored);
}

}  // namespace steelyard::balancing
