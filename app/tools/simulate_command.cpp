#include "app/tools/simulate_command.h"

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/config/device_files.h"
#include "app/config/registry.h"
#include "app/config/scenario_file.h"
#include "app/report/compare/comparison_table.h"
#include "app/report/output_file.h"
#include "app/report/page/page.h"
#include "app/report/progress_bar.h"
#include "app/report/run_totals.h"
#include "app/report/terminal_text.h"
#include "app/tools/compare_scenarios.h"
#include "core/error.h"
#include "protocol/sync_mode.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

// Compares the simulated time of the run as it was with the measured time: the accuracy of the simulation.
std::string measured_and_replayed(const std::string& run, const Replay& replay, double seconds) {
  const double more = 100 * (seconds / replay.seconds - 1);
  return run + ": " + std::to_string(replay.rounds) + " rounds under " + replay.policy + ", " + replay.sync +
         ", took " + fixed(replay.seconds, 2) + " s; replayed, they take " + fixed(seconds, 2) + " s, " +
         fixed(std::abs(more), 1) + (more < 0 ? " % less\n" : " % more\n");
}

Comparison compared(const ReplayCommand& command, const Replay& replay, const sim::Scenario& scenario) {
  Comparison comparison;
  comparison.kind = "scenario";
  comparison.name = command.run + " replayed";
  for (const std::string& name : command.without) comparison.name += ", without " + name;
  comparison.seed = scenario.seed;
  const std::string policies = command.policies.empty() ? replay.policy : command.policies;
  for (const Contender& contender :
       read_entrants(policies, command.sync, sim::simulated_policies(registry().policies), replay.sync))
    comparison.entries.push_back({contender, {}});
  Contest contest = scenario_contest(scenario, scenario.seed);
  contest.interrupted = [] { return false; };
  run_all(comparison, contest);
  return comparison;
}

constexpr std::size_t evaluations_shown = 10;  // the last ones
constexpr std::size_t shares_shown = 16;       // of further workers only the number is shown

std::string shares_text(const sim::RoundResult& round) {
  std::string text;
  for (std::size_t i = 0; i < std::min(round.shares.size(), shares_shown); ++i) {
    text += (i == 0 ? "" : "+") + std::to_string(round.shares[i]);
  }
  const std::size_t more = round.shares.size() - std::min(round.shares.size(), shares_shown);
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

void choose(sim::Scenario& scenario, const SimulateCommand& command) {
  const std::vector<std::string> known = sim::simulated_policies(scenario.own_policies);
  const std::string &policy = command.policy, &sync = command.sync;
  if (!policy.empty() && std::ranges::find(known, policy) == known.end()) {
    refuse_usage("--policy " + policy + ": unknown policy" + among(policy, known));
  }
  if (!sync.empty() && !is_sync(sync)) {
    refuse_usage("--sync " + sync + ": unknown mode: choose one of " + sync_choices());
  }
  if (!policy.empty()) scenario.policy = policy;
  if (!sync.empty()) scenario.sync = sync;
  if (command.seed) scenario.seed = *command.seed;
}

std::string training_text(const sim::Result& result) {
  if (!result.trained) return "";
  std::string text = printed("  training loss       %.4f in the first round, %.4f in the last\n",
                             result.rounds.front().loss, result.rounds.back().loss);
  const std::size_t count = result.evaluations.size(), skipped = count - std::min(count, evaluations_shown);
  if (skipped > 0) text += printed("  (%zu earlier evaluations not shown)\n", skipped);
  for (std::size_t i = skipped; i < count; ++i) {
    const sim::Evaluation& it = result.evaluations[i];
    const bool counted = it.accuracy >= 0;  // not of a model that predicts numbers
    const std::string title = i > skipped ? "" : counted ? "accuracy" : "test loss";
    const std::string line = counted
                                 ? printed("  %-19s %.2f %% of the test samples after %.3f s, loss %.4f",
                                           title.c_str(), 100 * it.accuracy, it.seconds, it.loss)
                                 : printed("  %-19s %.4f after %.3f s", title.c_str(), it.loss, it.seconds);
    text += wrapped(line, summary_width, summary_values_at) + "\n";
  }
  return text;
}

std::string late_text(const sim::Result& result) {
  const std::string late = staleness_text(result.staleness);
  return late.empty() ? ""
                      : wrapped("  staleness           " + late, summary_width, summary_values_at) + "\n";
}

}  // namespace

void run_replay(const ReplayCommand& command) {
  check_output("--output", command.output);
  const Replay whole = replay_of(command.run, {});
  const Replay replay = command.without.empty() ? whole : replay_of(command.run, command.without);
  if (!command.output.empty()) {
    write_output("--output", command.output, replay.scenario);
    if (command.output == "-") return;
  }
  const std::string name = command.run + "/replay.toml";
  const double again = sim::simulate(parse_scenario(whole.scenario, name)).total_s();
  std::fputs(shown_lines(measured_and_replayed(command.run, whole, again)).c_str(), stdout);
  const sim::Scenario scenario = parse_scenario(replay.scenario, name);
  const std::size_t width = isatty(STDOUT_FILENO) == 1 ? terminal_width(STDOUT_FILENO) : any_width;
  std::fputs(comparison_table(compared(command, replay, scenario), width).c_str(), stdout);
}

std::string simulation_summary(const sim::Result& result) {
  const sim::RoundResult& last = result.last_full();
  const std::size_t tenth = std::min<std::size_t>(10, result.rounds.size()) - 1;
  const auto row = [](const std::string& text) {
    return wrapped(text, summary_width, summary_values_at) + "\n";
  };
  return printed("%s under %s, %s, seed %llu\n", result.scenario.c_str(), result.policy.c_str(),
                 result.sync.c_str(), static_cast<unsigned long long>(result.seed)) +
         printed("  rounds              %zu\n", result.rounds.size()) +
         printed("  seconds             %.3f\n", result.total_s()) +
         printed("  samples per second  %.1f\n", result.samples_per_s()) +
         printed("  percent of ideal    %.1f   (ideal: %.3f s)\n", result.percent_of_ideal(),
                 result.ideal_s) +
         (result.work().measured > 0
              ? printed("  efficiency          %.0f %%   (computing: %.0f %% of a round)\n",
                        100 * result.work().efficiency(), 100 * result.work().computing())
              : "") +
         row(printed("  straggler effect    %.3f in the first round, %.3f after %zu, %.3f last",
                     result.rounds.front().se, result.rounds[tenth].se, tenth + 1, last.se)) +
         printed("  round               %.2f ms in the first, %.2f ms in the last\n",
                 result.rounds.front().round_ms, last.round_ms) +
         row("  final shares        " + shares_text(last)) + late_text(result) + training_text(result);
}

void tell_notes(const sim::Scenario& scenario) {
  for (const std::string& note : sim::notes_on(scenario)) {
    std::fprintf(stderr, "steelyard: %s: %s\n", scenario.name.c_str(), shown_line(note).c_str());
  }
}

void run_simulate(const SimulateCommand& command) {
  sim::Scenario scenario = read_scenario(command.scenario_file, command.overrides);
  choose(scenario, command);
  check_output("--json", command.json);
  tell_notes(scenario);
  const sim::Result result = sim::simulate(scenario);
  if (command.json != "-") std::fputs(simulation_summary(result).c_str(), stdout);
  if (!command.json.empty()) write_output("--json", command.json, sim::to_json(result));
}

}  // namespace steelyard
