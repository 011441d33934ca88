#include "balancing/policy/lb_bsp.h"

#include <algorithm>
#include <set>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"
#include "balancing/state.h"
#include "core/text.h"

namespace steelyard::balancing {
namespace {

constexpr std::uint32_t all_cpus = UINT32_MAX - 1;  // id of the CPUs' party in the search; no slot

// Of GPUs, whose speeds only start the search.
constexpr const char* gpu_predictor = "ema";

bool is_gpu(const WorkerView& worker) { return worker.kind == DeviceKind::gpu; }
std::uint32_t party(const WorkerView& worker) { return is_gpu(worker) ? worker.slot : all_cpus; }

// Bounds in a search: removed workers have nothing, and CPUs that may rest can have nothing.
std::vector<Bound> search_bounds(const Request& request, const std::set<std::uint32_t>& removed) {
  std::vector<Bound> bounds = share_bounds(request, removed);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!is_gpu(request.workers[i]) && may_rest(request.workers[i])) bounds[i].least = 0;
  }
  return bounds;
}

}  // namespace

LbBsp::LbBsp(LbBspOptions options) : options_(std::move(options)) {
  (void)made_predictor(0);  // finds an unknown name now, not in the first round
}

void LbBsp::observe(const Sample& sample) {
  if (!possible(sample)) return;
  last_.add(sample);
  const double speed = static_cast<double>(sample.samples) / sample.seconds;
  predictor(sample.slot).observe(speed, sample.planned_cpu, sample.planned_memory);
}

std::vector<std::uint64_t> LbBsp::plan(const Request& request) {
  // Bounds memory by the number of present workers; a late sample of an absent worker is dropped at the next
  // plan.
  keep_only(slots_of(request), predictors_);
  note_kinds(request);
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
  split_ = Split::of(request, predictors_.empty() ? Split().adapted(request, bounds)
                                                  : largest_remainder(v, request.positions, bounds));
  return split_.shares;
}

// A slot may have gone to a worker of another kind.
void LbBsp::note_kinds(const Request& request) {
  std::set<std::uint32_t> gpus;
  for (const WorkerView& worker : request.workers) {
    if (is_gpu(worker)) gpus.insert(worker.slot);
  }
  std::erase_if(predictors_,
                [&](const auto& it) { return gpus.contains(it.first) != gpus_.contains(it.first); });
  gpus_ = std::move(gpus);
}

// Seeded by the slot: workers learn independently, and every run learns alike.
Predictor& LbBsp::predictor(std::uint32_t slot) {
  std::unique_ptr<Predictor>& found = predictors_[slot];
  if (!found) found = made_predictor(slot);
  return *found;
}

std::unique_ptr<Predictor> LbBsp::made_predictor(std::uint32_t slot) const {
  if (gpus_.contains(slot)) return make_predictor(gpu_predictor, slot);
  return make_predictor(options_.predictor, slot, options_.own_predictors);
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
  // Only a split of the same positions among the same workers can stay. Shares of 0 have no time to compare,
  // and give a spread that is always too large.
  if (!split_.fits(request, bounds) || rested_ >= longest_rest) return false;
  std::vector<double> times;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    times.push_back(static_cast<double>(split_.shares[i]) / speeds[i]);
  }
  return relative_spread(times) < options_.dead_band;
}

// ---- GPUs: turns the moves of leader_straggler.h into shares

std::vector<std::uint64_t> LbBsp::plan_searched(const Request& request) {
  if (!split_.same_workers(request)) {
    removed_.clear();
    searching_ = false;
    search_ = {};
    split_ = Split::of(request, split_.adapted(request, share_bounds(request)));
  }
  // A round is evaluated once, and only if it is as long as the one to be divided.
  if (last_.take(request, split_) && last_.samples() == request.positions) search(request);
  return split_.adapted(request, search_bounds(request, removed_));
}

void LbBsp::search(const Request& request) {
  const std::vector<Bound> bounds = search_bounds(request, removed_);
  if (!searching_ && all_measured(request)) {
    split_ = Split::of(request, largest_remainder(speeds(request), request.positions, bounds));
    divide_among_cpus(request, bounds);
    searching_ = true;
    return;
  }
  split_ = Split::of(request, split_.adapted(request, bounds));
  std::vector<LeaderStraggler::Unit> units;
  for (std::size_t i = 0; i < request.workers.size(); ++i) {
    const WorkerView& worker = request.workers[i];
    const LastRound::Work* work = last_.find(worker.slot);
    if (work == nullptr) continue;
    const auto same = [&](const auto& unit) { return unit.id == party(worker); };
    auto unit = std::ranges::find_if(units, same);
    if (unit == units.end()) unit = units.insert(unit, {party(worker), 0, 0, 0});
    unit->seconds = std::max(unit->seconds, work->seconds);
    unit->share += split_.shares[i];
    unit->most += std::min(bounds[i].most, most_positions);
  }
  if (const auto found = search_.next(units)) move(request, *found);
  // A removed straggler's share may be more than its leader can take: then the others share it.
  const std::vector<Bound> now = search_bounds(request, removed_);
  split_ = Split::of(request, split_.adapted(request, now));
  divide_among_cpus(request, now);
}

// Moves samples from the straggler to the leader; the CPUs' party gives and takes through its first members.
void LbBsp::move(const Request& request, const LeaderStraggler::Move& move) {
  const std::vector<Bound> bounds = search_bounds(request, {});
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < request.workers.size() && taken < move.samples; ++i) {
    const WorkerView& worker = request.workers[i];
    if (party(worker) != move.from) continue;
    const bool leaves = move.removes && may_rest(worker);
    const std::uint64_t least = leaves ? 0 : bounds[i].least;
    const std::uint64_t part =
        std::min(move.samples - taken, split_.shares[i] - std::min(split_.shares[i], least));
    split_.shares[i] -= part, taken += part;
    if (leaves && split_.shares[i] == 0) removed_.insert(worker.slot);
  }
  for (std::size_t i = 0; i < request.workers.size() && taken > 0; ++i) {
    if (party(request.workers[i]) != move.to) continue;
    const std::uint64_t part = std::min(taken, bounds[i].most - std::min(split_.shares[i], bounds[i].most));
    split_.shares[i] += part, taken -= part;
  }
}

void LbBsp::divide_among_cpus(const Request& request, const std::vector<Bound>& bounds) {
  const std::vector<double> all = speeds(request);
  std::vector<Affine> times;
  std::vector<Bound> limits;
  std::vector<std::size_t> members;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < request.workers.size(); ++i) {
    if (party(request.workers[i]) != all_cpus) continue;
    members.push_back(i);
    times.push_back({0, 1 / all[i]});
    limits.push_back(bounds[i]);
    total += split_.shares[i];
  }
  if (members.empty()) return;
  const std::vector<std::uint64_t> shares = min_max(times, limits, total);
  for (std::size_t k = 0; k < members.size(); ++k) split_.shares[members[k]] = shares[k];
}

bool LbBsp::all_measured(const Request& request) const {
  return std::ranges::all_of(request.workers,
                             [&](const WorkerView& worker) { return predictors_.contains(worker.slot); });
}

// ---- the row in the table

PolicyTable lb_bsp_rows(const PredictorTable& own_predictors) {
  const LbBspOptions own;
  const auto make = [own_predictors](const Options& options) {
    return std::make_unique<LbBsp>(
        LbBspOptions{options.text("predictor"), options.number("dead_band"), own_predictors});
  };
  return {
      {"lb-bsp",
       make,
       "shares in proportion to predicted speeds (Chen et al. 2020)",
       {word_option("predictor", own.predictor, predictor_names(own_predictors), "predictor of the speeds"),
        number_option("dead_band", own.dead_band, 0, below(1),
                      "relative spread of predicted times below which shares stay unchanged")}}};
}

}  // namespace steelyard::balancing
