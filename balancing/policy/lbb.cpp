#include "balancing/policy/lbb.h"

#include <algorithm>
#include <cmath>

#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"
#include "balancing/policy/static_profile.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard::balancing {
namespace {

constexpr double most_fixed_share = 0.95;  // of a measured time: the rest belongs to the samples
constexpr double two_sizes = 0.1;          // relative difference of sizes that shows a slope
constexpr double much_slower = 1.5;        // times the median time

// Lines near equal shares.
std::vector<Affine> tangents(const std::vector<Cubic>& curves, const Request& request) {
  const auto share = static_cast<double>(request.positions) / static_cast<double>(request.workers.size());
  std::vector<Affine> lines;
  for (const Cubic& curve : curves) {
    lines.push_back(curve.over_grains(request.grain).near(std::max(share, 1.0), request.walk));
  }
  return lines;
}

}  // namespace

LbbOptions lbb_as_released() {
  LbbOptions options;
  options.fine = 0.06, options.rapid = 0.15, options.window = 30;
  options.guard = false, options.balanced_only = true;
  return options;
}

Lbb::Lbb(LbbOptions options) : options_(std::move(options)) {}

std::vector<std::uint64_t> Lbb::plan(const Request& request) {
  if (!split_.same_workers(request)) {
    start(request);
  } else if (last_.take(request, split_) && last_.samples() == request.positions) {
    // Rounds of another length than the split's are tuned from its proportions.
    split_ = Split::of(request, split_.adapted(request, left_out_.bounds(request)));
    tune(request);
    start_trials(request);
  }
  return split_.adapted(request, left_out_.bounds(request));
}

// The first split among these workers.
void Lbb::start(const Request& request) {
  keep_only(slots_of(request), known_);
  left_out_.forget_all_but(slots_of(request));
  const std::vector<Cubic> curves = profiled_curves(options_.profile, request);
  if (curves.empty() || !options_.profiled_start) {
    Request unprofiled = request;
    for (WorkerView& worker : unprofiled.workers) worker.profile = {};
    split_ = Split::of(request, split_.adapted(unprofiled, left_out_.bounds(request)));
  } else {
    split_ = Split::of(request, profile_split(curves, request, left_out_.bounds_to_solve(request)));
    left_out_.settle(request, tangents(curves, request), split_.shares, options_.window);
  }
  effects_.clear();
  tuned_ = false;
}

void Lbb::tune(const Request& request) {
  const double se = straggler_effect();
  effects_.push_back(se);
  if (effects_.size() > remembered) effects_.erase(effects_.begin());
  ++measured_since_;
  if (!options_.balanced_only || se <= options_.fine) ++since_;

  if (left_out_.trying() || (se >= options_.rapid && rapid_is_allowed(se))) {
    rapid_tune(request);
    before_ = se;
    since_ = measured_since_ = 0;
    tuned_ = true;
    effects_.clear();
  } else if (se >= options_.fine || (options_.balanced_only && tuned_ && since_ <= options_.window)) {
    fine_tune(left_out_.bounds(request));
  }
}

double Lbb::straggler_effect() const {
  std::vector<double> times;
  for (const auto& [slot, work] : last_.work()) times.push_back(work.seconds);
  return relative_spread(times);
}

// Called if SE of the last round, already in effects_, is at RT or above.
bool Lbb::rapid_is_allowed(double se) const {
  const auto high = std::ranges::count_if(effects_, [&](double effect) { return effect >= options_.rapid; });
  if (options_.guard && high < 2) return false;
  if (!tuned_ || since_ > options_.window) return true;
  return options_.guard && (se > before_ || measured_since_ >= 2);
}

void Lbb::fine_tune(const std::vector<Bound>& bounds) {
  const std::size_t none = split_.slots.size();
  std::vector<double> seconds(none), measured;
  std::size_t slowest = none, fastest = none;
  for (std::size_t i = 0; i < none; ++i) {
    const LastRound::Work* work = last_.find(split_.slots[i]);
    if (work == nullptr) continue;
    seconds[i] = work->seconds;
    measured.push_back(work->seconds);
    const bool gives = split_.shares[i] >= bounds[i].least + options_.step;
    const bool takes = split_.shares[i] + options_.step <= bounds[i].most;
    if (gives && (slowest == none || seconds[i] > seconds[slowest])) slowest = i;
    if (takes && (fastest == none || seconds[i] < seconds[fastest])) fastest = i;
  }
  if (slowest == none || fastest == none || seconds[slowest] <= seconds[fastest]) return;
  const auto give = [&](std::size_t to) {
    split_.shares[slowest] -= options_.step;
    split_.shares[to] += options_.step;
  };
  give(fastest);
  const double middle = median(measured);
  if (options_.balanced_only || seconds[slowest] <= much_slower * middle) return;
  for (std::size_t i = 0; i < none; ++i) {
    const bool takes = seconds[i] > 0 && seconds[i] <= middle && i != fastest &&
                       split_.shares[i] + options_.step <= bounds[i].most;
    if (takes && split_.shares[slowest] >= bounds[slowest].least + options_.step) give(i);
  }
}

void Lbb::rapid_tune(const Request& request) {
  const std::vector<Cubic> profile = profiled_curves(options_.profile, request);
  std::vector<double> fixed, per_sample;
  for (std::size_t i = 0; i < request.workers.size(); ++i) {  // the workers of the split
    const std::uint32_t slot = request.workers[i].slot;
    const LastRound::Work* work = last_.find(slot);
    fixed.push_back(0), per_sample.push_back(0);
    if (work == nullptr) continue;
    const auto samples = static_cast<double>(work->samples);
    fixed.back() = profile.empty()
                       ? fixed_cost(slot, *work)
                       : std::min(profile[i].over(request.walk, 0), most_fixed_share * work->seconds);
    per_sample.back() = (work->seconds - fixed.back()) / samples;
    known_[slot] = {samples, work->seconds, fixed.back()};
  }
  fill_with_mean(per_sample);
  std::vector<Affine> curves;
  for (std::size_t i = 0; i < fixed.size(); ++i) curves.push_back({fixed[i], per_sample[i]});
  split_.shares = min_max(curves, left_out_.bounds_to_solve(request), request.positions);
  left_out_.settle(request, curves, split_.shares, options_.window);
}

void Lbb::start_trials(const Request& request) {
  const std::set<std::uint32_t> started = left_out_.start_trials(request);
  if (started.empty()) return;
  for (const std::uint32_t slot : started) known_.erase(slot);
  split_ = Split::of(request, split_.adapted(request, left_out_.bounds(request)));
}

double Lbb::fixed_cost(std::uint32_t slot, const LastRound::Work& work) const {
  const auto found = known_.find(slot);
  if (found == known_.end()) return 0;
  const Known& then = found->second;
  const double more = static_cast<double>(work.samples) - then.samples;
  // Outside a window the two times may not be comparable: other programs may use the machine by now.
  const bool comparable = tuned_ && since_ <= options_.window && std::abs(more) > two_sizes * then.samples;
  if (comparable) {
    const double slope = (work.seconds - then.seconds) / more;
    const double fixed = work.seconds - slope * static_cast<double>(work.samples);
    if (slope > 0 && fixed >= 0 && fixed < work.seconds)
      return std::min(fixed, most_fixed_share * work.seconds);
  }
  return std::min(then.fixed, most_fixed_share * work.seconds);
}

namespace {

// Options not given are as in the preset.
std::unique_ptr<Policy> make_lbb(const Options& options) {
  LbbOptions chosen = options.text("preset") == "paper" ? LbbOptions{} : lbb_as_released();
  if (options.has("fine")) chosen.fine = options.number("fine");
  if (options.has("rapid")) chosen.rapid = options.number("rapid");
  if (options.has("step")) chosen.step = options.whole("step");
  if (options.has("window")) chosen.window = options.whole("window");
  if (options.has("guard")) chosen.guard = options.flag("guard");
  chosen.profile = curves_option(options, "profile_ms");
  chosen.profiled_start = options.text("start") == "profile";
  if (chosen.fine > chosen.rapid) refuse_setup("fine is above rapid; lower fine or raise rapid");
  return std::make_unique<Lbb>(chosen);
}

Option preset_option(Option option) {
  option.otherwise.clear();
  option.help += "; default: from the preset";
  return option;
}

}  // namespace

PolicyTable lbb_rows(const PredictorTable&) {
  return {
      {"lbb",
       make_lbb,
       "moves samples from the slowest worker to the fastest, and re-solves if needed (Yao et al. 2024)",
       {word_option("preset", "paper", {"paper", "as-released"},
                    "the published values, or those of the released code"),
        preset_option(
            number_option("fine", 0, 0, below(2), "straggler effect from which shares are tuned (FT)")),
        preset_option(number_option("rapid", 0, 0, below(100),
                                    "straggler effect from which shares are solved again (RT)")),
        preset_option(
            rounds_option("step", {}, "samples (or grains, if the model has them) moved by a tuning step")),
        preset_option(rounds_option("window", {}, "rounds after a rapid step with small steps only")),
        preset_option(flag_option("guard", false, "ignore single outliers")),
        text_option("profile_ms", "",
                    "time curves measured before the job, as in \"half: 5.9 0.59; slow: 8.3 0.6\""),
        word_option("start", "profile", {"profile", "equal"}, "the first split, if a profile is given")}}};
}

}  // namespace steelyard::balancing
