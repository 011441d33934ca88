#include "balancing/policy/steelyard_policy.h"

#include <algorithm>
#include <set>

#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"
#include "balancing/policy/static_profile.h"

namespace steelyard::balancing {
namespace {

constexpr std::uint64_t per_accident = 3;  // lasting changes per outlier, from which on the next change is
                                           // followed at once
constexpr double cpu_slowness = 32;        // of a CPU never measured, against a GPU

double slowness(DeviceKind kind) { return kind == DeviceKind::cpu ? cpu_slowness : 1; }

}  // namespace

Steelyard::Steelyard(SteelyardOptions options)
    : options_(std::move(options)),
      links_(options_.rules),
      rests_(options_.rules),
      move_(options_.move, options_.rules) {}

void Steelyard::observe(const Sample& sample) {
  if (!possible(sample)) return;
  last_.add(sample);
  rests_.measured(sample.slot, sample.round);
  const TimedBatch batch{static_cast<double>(sample.samples), sample.seconds};
  auto worker = workers_.find(sample.slot);
  if (worker == workers_.end()) {
    const auto profile = profiled_.find(sample.slot);
    const Affine before = profile == profiled_.end() ? Affine{} : profile->second.near(batch.samples, walk_);
    const bool known = before(batch.samples) > 0;  // a profile without time is no information
    worker =
        workers_.emplace(sample.slot, known ? CostFilter(options_.rules, before) : CostFilter(options_.rules))
            .first;
  }
  const CostFilter::Verdict verdict =
      worker->second.observe(batch, heard(sample.planned_cpu, sample.planned_memory),
                             heard(sample.cpu, sample.memory), changes_last());
  if (verdict == CostFilter::Verdict::lasted) ++lasted_;
  if (verdict == CostFilter::Verdict::accident) ++accidents_;
}

bool Steelyard::changes_last() const {
  return options_.rules.history && lasted_ > 1 && lasted_ >= per_accident * accidents_;
}

Signals Steelyard::heard(double cpu, double memory) const {
  return {options_.rules.cpu_signal ? cpu : -1, options_.rules.memory_signal ? memory : -1};
}

std::vector<std::uint64_t> Steelyard::plan(const Request& request) {
  forget_absent(request);
  look_up(request);
  beside_round_.clear();
  const bool complete = last_.take(request, move_.split());
  if (complete) links_.observe(last_, rests_.on_trial());
  if (workers_.empty() && !profiled_.empty())
    return profile_split(profiled_curves(options_.profile, request), request, share_bounds(request));
  std::vector<double> link_seconds;
  for (const WorkerView& worker : request.workers) link_seconds.push_back(links_.seconds(worker.slot));
  const std::vector<Affine> costs = curves(request, link_seconds);
  if (complete) waits_.observe(request, last_, costs, link_seconds);
  // Rounds of another length than the measured ones (the last of an epoch, an evaluation, a lost worker's
  // pieces) are solved separately: a short one would send every worker with a fixed cost to rest.
  const bool usual = request.positions == last_.samples() || request.positions == move_.split().total();
  if (!usual || workers_.empty()) {
    const std::vector<Bound> limits = share_bounds(request);
    return min_max(costs, workers_.empty() ? limits : with_rest(request, limits), request.positions);
  }
  std::vector<std::uint64_t> best = best_split(request, costs);
  const Split& split = move_.to(request, costs, known_for_move(request), std::move(best));
  beside_round_ = rests_.beside_round(request, costs, split.shares);
  return split.shares;
}

void Steelyard::forget_absent(const Request& request) {
  const std::set<std::uint32_t> present = slots_of(request);
  keep_only(present, workers_);
  links_.forget_all_but(present);
  waits_.forget_all_but(present);
  rests_.forget_all_but(present);
}

void Steelyard::look_up(const Request& request) {
  walk_ = request.walk;
  profiled_.clear();
  for (const WorkerView& worker : request.workers) {
    const Cubic curve =
        options_.profile.empty() ? Cubic{worker.profile} : options_.profile.of(worker.name, worker.slot);
    if (curve != Cubic{}) profiled_[worker.slot] = curve.over_grains(request.grain);
  }
}

std::vector<Affine> Steelyard::curves(const Request& request, const std::vector<double>& link_seconds) const {
  Affine sum;  // of the measured workers, converted to GPUs
  double measured = 0;
  std::vector<Affine> all;
  for (const WorkerView& worker : request.workers) {
    const auto found = workers_.find(worker.slot);
    all.push_back(found == workers_.end() ? Affine{} : found->second.curve(heard(worker.cpu, worker.memory)));
    if (found == workers_.end()) continue;
    const double as_gpu = 1 / slowness(worker.kind);
    sum.fixed += as_gpu * all.back().fixed, sum.per_sample += as_gpu * all.back().per_sample, ++measured;
  }
  const double share = static_cast<double>(request.positions) / static_cast<double>(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].per_sample == 0) {
      // If no worker is measured, any curve will do, as long as all workers of a kind have the same.
      const auto profile = profiled_.find(request.workers[i].slot);
      const double mean = measured > 0 ? slowness(request.workers[i].kind) / measured : 0;
      all[i] = profile != profiled_.end() ? profile->second.near(share, request.walk)
               : measured > 0             ? Affine{mean * sum.fixed, mean * sum.per_sample}
                                          : Affine{0, slowness(request.workers[i].kind)};
    }
    all[i].fixed += link_seconds[i];
  }
  return all;
}

std::vector<std::uint64_t> Steelyard::best_split(const Request& request, const std::vector<Affine>& curves) {
  for (const std::uint32_t slot : rests_.call_back(request)) waits_.doubt(slot);
  std::vector<Rests::Known> known(request.workers.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::uint32_t slot = request.workers[i].slot;
    const auto worker = workers_.find(slot);
    if (worker == workers_.end()) continue;
    known[i] = {static_cast<double>(worker->second.rounds()), worker->second.doubt(1), waits_.worth(slot),
                waits_.surely(slot)};
  }
  return rests_.solve(request, curves, known);
}

std::vector<Move::Known> Steelyard::known_for_move(const Request& request) const {
  std::vector<Move::Known> known(request.workers.size());
  if (!move_.split().made_for(request)) return known;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const WorkerView& view = request.workers[i];
    const auto worker = workers_.find(view.slot);
    if (worker == workers_.end()) continue;
    known[i] = {links_.changed(view.slot) || worker->second.changing(heard(view.cpu, view.memory)),
                worker->second.doubt(static_cast<double>(move_.split().shares[i]))};
  }
  return known;
}

PolicyTable steelyard_policy_rows(const PredictorTable&) {
  const MoveOptions own;
  const auto make = [](const Options& options) {
    SteelyardOptions chosen;
    chosen.move.least_gain = options.number("least_gain");
    chosen.move.caution = options.number("caution");
    chosen.profile = curves_option(options, "profile_ms");
    return std::make_unique<Steelyard>(std::move(chosen));
  };
  return {
      {"steelyard",
       make,
       "the default: shares by measured time curves and a prediction of the next round",
       {number_option("least_gain", own.least_gain, 0, below(1), "relative gain below which no share moves"),
        number_option("caution", own.caution, 0, below(10),
                      "weight of the uncertainty of the slowest worker's time; 0: always use the best split"),
        text_option("profile_ms", "",
                    "time curves measured before the job, as in \"half: 5.9 0.59; slow: 8.3 0.6\"")}}};
}

}  // namespace steelyard::balancing
