#include "app/tools/compare_scenarios.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/error.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

Trial trial_of(const sim::Result& result) {
  Trial trial;
  trial.seconds = result.total_s();
  trial.samples = result.samples_per_s() * result.total_s();
  trial.updates = result.updates;
  trial.percent_of_ideal = result.percent_of_ideal();
  trial.efficiency = result.work().efficiency();
  for (const sim::Evaluation& it : result.evaluations) {
    if (it.accuracy < 0) continue;  // the model predicts numbers
    trial.evaluations.push_back({it.seconds, it.updates, it.accuracy, it.epochs});
    trial.accuracy = it.accuracy;
  }
  return trial;
}

// Simulates contenders; caches ideal times.
class Simulator {
 public:
  Simulator(sim::Scenario scenario, std::uint64_t seed) : scenario_(std::move(scenario)), seed_(seed) {}

  Trial run(const Contender& contender, std::uint64_t repeat) {
    sim::Scenario scenario = scenario_;
    scenario.seed = seed_ + repeat;
    scenario.policy = contender.policy;
    scenario.sync = contender.sync;
    // A simulation is deterministic: after a failure, repeats would fail too.
    try {
      if (!contender.alone.empty()) return run_alone(scenario, contender.alone);
      if (learns_like_equal(contender)) return run_timed(scenario);
      Trial trial = trial_of(sim::simulate(scenario, ideal(scenario)));
      if (contender == equal_bsp) equal_ = trial;
      return trial;
    } catch (const Failure& failure) {
      Trial trial;
      trial.failure = failure.what();
      trial.hopeless = true;
      return trial;
    }
  }

  [[nodiscard]] std::optional<Contender> best_alone() const {
    sim::Scenario scenario = scenario_;
    scenario.seed = seed_;
    const auto best = sim::best_single_device(scenario);
    if (!best) return std::nullopt;
    return Contender{"equal", "bsp", scenario_.workers[*best].name};
  }

 private:
  // Under bsp every update is the weighted sum over one global batch, however it was divided: any split makes
  // the parameters of equal bsp, but for rounding. So the training is run once, and other policies only for
  // their times.
  [[nodiscard]] bool learns_like_equal(const Contender& contender) const {
    return scenario_.training && contender.sync == equal_bsp.sync && contender != equal_bsp &&
           !equal_.evaluations.empty();
  }

  Trial run_timed(sim::Scenario scenario) {
    scenario.training = nullptr;
    scenario.target_accuracy = 0;
    scenario.rounds = equal_.updates;  // fewer than the job's if the target ended the training
    const sim::Result result = sim::simulate(scenario, ideal(scenario));
    Trial trial = trial_of(result);
    trial.accuracy = equal_.accuracy;
    trial.evaluations = equal_.evaluations;
    for (Evaluation& it : trial.evaluations) {
      it.seconds = 0;
      for (std::size_t i = 0; i < std::min<std::size_t>(it.updates, result.rounds.size()); ++i)
        it.seconds += result.rounds[i].round_ms / 1000;
    }
    return trial;
  }

  // A device alone makes the same updates from the same samples as all together under bsp, in a different
  // time. So the results of equal bsp are reused with new times.
  [[nodiscard]] Trial run_alone(const sim::Scenario& scenario, const std::string& name) const {
    double whole = 0;
    for (std::size_t i = 0; i < scenario.workers.size(); ++i) {
      if (scenario.workers[i].name == name) whole = sim::alone_seconds(scenario, i);
    }
    const double round = whole / static_cast<double>(sim::count_rounds(scenario));
    Trial trial = equal_;
    trial.seconds = round * static_cast<double>(trial.updates);
    trial.percent_of_ideal = -1;  // nothing was divided
    for (Evaluation& it : trial.evaluations) it.seconds = round * static_cast<double>(it.updates);
    return trial;
  }

  double ideal(const sim::Scenario& scenario) {
    const std::pair key(scenario.seed, scenario.rounds);
    const auto known = ideals_.find(key);
    if (known != ideals_.end()) return known->second;
    return ideals_[key] = sim::ideal_seconds(scenario);
  }

  const sim::Scenario scenario_;
  const std::uint64_t seed_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> ideals_;  // by seed and rounds
  Trial equal_;  // the last trial of equal bsp, which is always a contender
};

}  // namespace

Contest scenario_contest(const sim::Scenario& scenario, std::uint64_t seed) {
  auto simulator = std::make_shared<Simulator>(scenario, seed);
  Contest contest;
  contest.run = [simulator](const Contender& contender, std::uint64_t repeat) {
    return simulator->run(contender, repeat);
  };
  contest.best_alone = [simulator](const Comparison&) { return simulator->best_alone(); };
  return contest;
}

}  // namespace steelyard
