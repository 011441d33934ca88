#include "balancing/policy/boa.h"

#include <algorithm>
#include <cmath>

#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"

namespace steelyard::balancing {
void Boa::observe(const Sample& sample) {
  if (!possible(sample)) return;
  last_.add(sample);
  const TimedBatch batch{static_cast<double>(sample.samples), sample.seconds};
  Model& model =
      models_.try_emplace(sample.slot, Model{ForgettingLine(options_.forgetting), {}}).first->second;
  const bool late = !model.line.empty() && batch.seconds > straggling * model.line.curve()(batch.samples);
  if (!late) model.late.clear();
  model.line.add(batch);
  if (!late) return;
  model.late.push_back(batch);
  if (model.late.size() < straggling_rounds) return;
  model.line = ForgettingLine(options_.forgetting);
  for (const TimedBatch& one : model.late) model.line.add(one);
  model.late.clear();
}

std::vector<std::uint64_t> Boa::plan(const Request& request) {
  if (split_.empty() || !split_.same_workers(request)) {
    keep_only(slots_of(request), models_);
    left_out_.forget_all_but(slots_of(request));
    // New workers get a share in proportion and are measured before the program is solved for them.
    split_ = Split::of(request, split_.adapted(request, left_out_.bounds(request)));
    promised_ = 0;
  } else if (due(request)) {
    solve(request);
    start_trials(request);
  }
  return split_.adapted(request, left_out_.bounds(request));
}

// Called once per measured round: whether to solve again.
bool Boa::due(const Request& request) {
  if (!last_.take(request, split_) || last_.samples() != request.positions) return false;
  ++since_;
  if (promised_ == 0 || since_ >= options_.period) return true;
  double measured = 0;
  for (const auto& [slot, work] : last_.work()) measured = std::max(measured, work.seconds);
  return std::abs(measured - promised_) > options_.deviation * promised_;
}

void Boa::solve(const Request& request) {
  const std::vector<Affine> models = curves(request);
  const std::vector<std::uint64_t> now = split_.adapted(request, left_out_.bounds(request));
  const std::vector<std::uint64_t> best =
      min_max(models, left_out_.bounds_to_solve(request), request.positions);
  const double stay = longest(models, now), move = longest(models, best);
  split_ = Split::of(request, stay - move > options_.gain * stay ? best : now);
  left_out_.settle(request, models, split_.shares, options_.period);
  promised_ = longest(models, split_.shares);
  since_ = 0;
}

void Boa::start_trials(const Request& request) {
  const std::set<std::uint32_t> started = left_out_.start_trials(request);
  if (started.empty()) return;
  for (const std::uint32_t slot : started) models_.erase(slot);
  split_ = Split::of(request, split_.adapted(request, left_out_.bounds(request)));
  promised_ = 0;
}

// A worker without a share in the measured round has no model yet: uses the mean of the others.
std::vector<Affine> Boa::curves(const Request& request) const {
  std::vector<double> fixed, per_sample;
  for (const WorkerView& worker : request.workers) {
    const auto found = models_.find(worker.slot);
    const Affine curve = found == models_.end() ? Affine{} : found->second.line.curve();
    fixed.push_back(curve.fixed);
    per_sample.push_back(curve.per_sample);
  }
  fill_with_mean(per_sample);
  std::vector<Affine> all;
  for (std::size_t i = 0; i < fixed.size(); ++i) all.push_back({fixed[i], per_sample[i]});
  return all;
}

PolicyTable boa_rows(const PredictorTable&) {
  const BoaOptions own;
  const auto make = [](const Options& options) {
    return std::make_unique<Boa>(BoaOptions{options.whole("period"), options.number("deviation"),
                                            options.number("gain"), options.number("forgetting")});
  };
  return {
      {"boa",
       make,
       "the exact min-max program over a line for each worker (Yang et al. 2020)",
       {rounds_option("period", own.period, "rounds between two solutions"),
        number_option("deviation", own.deviation, 0, below(10),
                      "relative deviation of the longest time from its prediction that triggers a solution"),
        number_option("gain", own.gain, 0, below(1), "relative gain below which a new split is not used"),
        number_option("forgetting", own.forgetting, 0.5, 1,
                      "forgetting factor of the models, per measurement; 1: none")}}};
}

}  // namespace steelyard::balancing
