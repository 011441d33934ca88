#include "balancing/policy/lb_bsp.h"

#include <algorithm>
#include <set>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/policy/share_bounds.h"
#include "balancing/state.h"
#include "core/stats.h"

namespace steelyard::balancing {
namespace {

constexpr char title[] = "lb-bsp.2";

bool is_gpu(const WorkerView& worker) { return worker.kind == "gpu"; }

}  // namespace

LbBsp::LbBsp(LbBspOptions options) : options_(std::move(options)) {
  (void)make_predictor(options_.predictor, 0,
                       options_.own_predictors);  // an unknown name is found here, not in the first round
}

void LbBsp::observe(const Sample& sample) {
  if (!possible(sample)) return;
  last_.add(sample);
  const double speed = static_cast<double>(sample.samples) / sample.seconds;
  predictor(sample.slot).observe(speed, sample.cpu, sample.memory);
}

std::vector<std::uint64_t> LbBsp::plan(const Request& request) {
  forget_absent(request);
  const bool any_gpu = std::ranges::any_of(request.workers, is_gpu);
  return any_gpu ? plan_searched(request) : plan_predicted(request);
}

std::vector<std::uint64_t> LbBsp::plan_predicted(const Request& request) {
  const std::vector<Bound> bounds = share_bounds(request);
  // v, x and t as in the header's equation.
  const std::vector<double> v = speeds(request);
  if (may_stay(request, bounds, v)) {
    ++rested_;
    return split_.shares;
  }
  rested_ = 0;
  split_ = Split::of(request, largest_remainder(v, request.positions, bounds));
  return split_.shares;
}

// Seeded by the slot: workers learn independently, and every run learns alike.
Predictor& LbBsp::predictor(std::uint32_t slot) {
  std::unique_ptr<Predictor>& found = predictors_[slot];
  if (!found) found = make_predictor(options_.predictor, slot, options_.own_predictors);
  return *found;
}

// Memory is bounded by the living, and a late sample of someone who left does not outlast the next plan.
void LbBsp::forget_absent(const Request& request) {
  const std::set<std::uint32_t> present = slots_of(request);
  std::erase_if(predictors_, [&](const auto& entry) { return !present.contains(entry.first); });
}

std::vector<double> LbBsp::speeds(const Request& request) const {
  std::vector<double> all;
  for (const WorkerView& worker : request.workers) {
    const auto found = predictors_.find(worker.slot);
    all.push_back(found == predictors_.end() ? 0 : found->second->predict(worker.cpu, worker.memory));
  }
  fill_with_mean(all);
  return all;
}

bool LbBsp::may_stay(const Request& request, const std::vector<Bound>& bounds,
                     const std::vector<double>& speeds) const {
  // Only a split of the same positions among the same workers can stay; 0 shares have no time to compare, and
  // give a spread that is always too large.
  if (!split_.fits(request, bounds) || rested_ >= longest_rest) return false;
  std::vector<double> times;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    times.push_back(static_cast<double>(split_.shares[i]) / speeds[i]);
  }
  return relative_spread(times) < options_.dead_band;
}

std::unique_ptr<Policy> LbBsp::clone() const {
  auto copy = std::make_unique<LbBsp>(options_);
  for (const auto& [slot, predictor] : predictors_) copy->predictors_[slot] = predictor->clone();
  copy->split_ = split_, copy->rested_ = rested_;
  copy->search_ = search_, copy->last_ = last_, copy->searching_ = searching_, copy->removed_ = removed_;
  return copy;
}

std::string LbBsp::save() const {
  StateWriter writer(title);
  writer.count(predictors_.size());
  for (const auto& [slot, predictor] : predictors_) writer.count(slot).text(predictor->save());
  split_.save(writer);
  writer.count(rested_);
  search_.save(writer);
  last_.save(writer);
  writer.count(searching_ ? 1 : 0).count(removed_.size());
  for (const std::uint32_t slot : removed_) writer.count(slot);
  return writer.str();
}

void LbBsp::restore(const std::string& text) {
  StateReader reader(text, title);
  LbBsp restored(options_);
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    const auto slot = static_cast<std::uint32_t>(reader.count(UINT32_MAX));
    restored.predictor(slot).restore(reader.text());
  }
  restored.split_.restore(reader);
  restored.rested_ = reader.count();
  restored.search_.restore(reader);
  restored.last_.restore(reader);
  restored.searching_ = reader.count(1) == 1;
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    restored.removed_.insert(static_cast<std::uint32_t>(reader.count(UINT32_MAX)));
  }
  reader.end();
  // Only now, when nothing can be refused any more.
  *this = std::move(restored);
}

}  // namespace steelyard::balancing
