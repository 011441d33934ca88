#include "sim/simulation.h"

#include <algorithm>

#include "balancing/oracle.h"
#include "balancing/policies.h"
#include "core/error.h"

namespace steelyard::sim {
namespace {

constexpr char oracle[] = "oracle";

std::unique_ptr<balancing::Policy> policy_for(const Scenario& scenario, const balancing::TrueCurves& truth) {
  if (scenario.policy == oracle) {
    auto policy = std::make_unique<balancing::Oracle>(truth);
    if (parse_sync(scenario.sync).paced) balancing::require_pacing(oracle, *policy);
    return policy;
  }
  const auto found = scenario.policy_options.find(scenario.policy);
  auto options = found == scenario.policy_options.end() ? balancing::PolicyOptions() : found->second;
  const bool short_curves = std::all_of(scenario.workers.begin(), scenario.workers.end(),
                                        [](const Device& device) { return device.time_ms.size() <= 4; });
  if (scenario.policy == "static" && options.empty() && short_curves)
    options["curves_ms"] = profile_of(scenario);
  auto policy =
      balancing::make_policy(scenario.policy, options, scenario.own_policies, scenario.own_predictors);
  if (parse_sync(scenario.sync).paced) balancing::require_pacing(scenario.policy, *policy);
  return policy;
}

// `batches`, if not null, receives the number of global batches processed.
Result run(const Scenario& scenario, const ScenarioRun::Options& options, std::uint64_t* batches = nullptr) {
  check_scenario(scenario);
  const auto make = [&](const balancing::TrueCurves& truth) { return policy_for(scenario, truth); };
  ScenarioRun world(scenario, make, options);
  world.run();
  const RunResults& got = world.results();
  Result result{scenario.name,      scenario.policy, scenario.sync, scenario.seed, {}, got.rounds(), 0,
                got.tally().updates};
  for (const Device& device : scenario.workers) result.workers.push_back(device.name);
  result.trained = options.trains && scenario.training;
  result.evaluations = got.evaluations();
  result.staleness = got.ended()->staleness;
  if (batches != nullptr) *batches = got.tally().batches;
  return result;
}

}  // namespace

std::string profile_of(const Scenario& scenario) {
  std::string text;
  for (const Device& device : scenario.workers) {
    text += (text.empty() ? "" : "; ") + device.name + ":";
    const bool polynomial = device.measured.empty() && device.flat_ms == 0;
    const auto terms = polynomial ? device.time_ms
                                  : line_through([&](double samples) { return device.own_ms(samples); },
                                                 scenario.global_batch);
    for (const double term : terms) text += " " + json_number(term);
  }
  return text;
}

std::vector<std::string> simulated_policies(const balancing::PolicyTable& own) {
  std::vector<std::string> names = balancing::policy_names(own);
  names.emplace_back(oracle);
  return names;
}

Result simulate(const Scenario& scenario, std::optional<double> ideal_s) {
  const std::vector<std::string> names = simulated_policies(scenario.own_policies);
  if (std::find(names.begin(), names.end(), scenario.policy) == names.end()) {
    throw Failure(ExitCode::configuration, scenario.name + ": unknown policy '" + scenario.policy +
                                               "'; choose one of " + joined(names));
  }
  std::uint64_t batches = 0;
  Result result = run(scenario, {ScenarioRun::Checks::rounds, {}, true}, &batches);
  // A training that reached its target early did less than the whole job: the reference must match.
  const bool ended_early = scenario.target_accuracy > 0 && batches < count_rounds(scenario);
  if (ideal_s && !ended_early) {
    result.ideal_s = *ideal_s;
  } else if (scenario.policy == oracle && parse_sync(scenario.sync) == SyncMode{}) {
    result.ideal_s = result.total_s();
  } else {
    Scenario as_long = scenario;
    if (ended_early) as_long.rounds = batches;
    result.ideal_s = ideal_seconds(as_long);
  }
  return result;
}

double ideal_seconds(const Scenario& scenario) {
  Scenario ideal = scenario;
  ideal.policy = oracle;
  ideal.sync = "bsp";
  ideal.network.push_encoding = ideal.network.pull_encoding = FloatCode::float32;
  return run(ideal, {ScenarioRun::Checks::never, {}, false}).total_s();
}

std::optional<std::size_t> best_single_device(const Scenario& scenario) {
  const Devices devices(scenario, scenario.seed);
  std::vector<bool> stays(scenario.workers.size(), true);
  for (const Event& event : scenario.events) {
    if (event.worker && (event.kill || event.join)) stays[*event.worker] = false;
  }
  std::optional<std::size_t> best;
  double best_ms = 0;
  for (std::size_t worker = 0; worker < stays.size(); ++worker) {
    if (!stays[worker]) continue;
    const std::uint64_t most = scenario.workers[worker].max_batch / scenario.grain * scenario.grain;
    double ms = 0;
    for (Round round = 0; round < count_rounds(scenario); ++round) {
      // A batch that exceeds its memory is computed in several parts.
      for (std::uint64_t left = scenario.global_batch; left > 0;) {
        const std::uint64_t turn = most == 0 ? left : std::min(left, most);
        ms += devices.true_ms(worker, round, turn, ms / 1000);
        left -= turn;
      }
      ms += network_of(scenario, worker).exchange_ms() * devices.network(worker, round);
    }
    if (!best || ms < best_ms) {
      best = worker;
      best_ms = ms;
    }
  }
  return best;
}

double alone_seconds(const Scenario& scenario, std::size_t worker) {
  Scenario alone = scenario;
  alone.policy = "equal";
  return run(alone, {ScenarioRun::Checks::rounds, worker, false}).total_s();
}

}  // namespace steelyard::sim
