#include "app/tools/replay_command.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "app/tools/compare_scenarios.h"
#include "app/config/recorded_scenario.h"
#include "app/config/scenario_file.h"
#include "core/error.h"
#include "app/report/compare/comparison_table.h"
#include "app/report/output_file.h"
#include "app/report/page/page.h"
#include "app/report/progress_bar.h"
#include "app/report/terminal_text.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

// How near the simulation comes to what was measured says what its other answers are worth.
std::string measured_and_replayed(const std::string& run, const Replay& replay, double seconds) {
  const double more = 100 * (seconds / replay.seconds - 1);
  return run + ": " + std::to_string(replay.rounds) + " rounds under " + replay.policy + ", " + replay.sync +
         ", took " + fixed(replay.seconds, 2) + " s; replayed, they take " + fixed(seconds, 2) + " s, " +
         fixed(std::abs(more), 1) + (more < 0 ? " % less\n" : " % more\n");
}

Comparison compared(const ReplayCommand& command, const Replay& replay, const sim::Scenario& scenario,
                    const Extensions& extensions) {
  Comparison comparison;
  comparison.kind = "scenario";
  comparison.name = command.run + " again";
  for (const std::string& name : command.without) comparison.name += ", without " + name;
  comparison.seed = scenario.seed;
  const std::string policies = command.policies.empty() ? replay.policy : command.policies;
  for (const Entrant& entrant :
       read_entrants(policies, command.sync, sim::simulated_policies(extensions.policies), replay.sync))
    comparison.entries.push_back({entrant, {}});
  Contest contest = scenario_contest(scenario, scenario.seed);
  contest.interrupted = [] { return false; };
  run_all(comparison, contest);
  return comparison;
}

}  // namespace

int run_replay(const ReplayCommand& command, const Extensions& extensions) {
  check_output("--output", command.output);
  const Replay whole = replay_of(command.run, {}, extensions);
  const Replay replay = command.without.empty() ? whole : replay_of(command.run, command.without, extensions);
  if (!command.output.empty()) {
    write_output("--output", command.output, replay.scenario);
    if (command.output == "-") return static_cast<int>(ExitCode::ok);
  }
  const std::string name = command.run + "/replay.toml";
  const double again = sim::simulate(parse_scenario(whole.scenario, name, extensions)).total_s();
  std::fputs(shown_lines(measured_and_replayed(command.run, whole, again)).c_str(), stdout);
  const sim::Scenario scenario = parse_scenario(replay.scenario, name, extensions);
  const std::size_t width = isatty(STDOUT_FILENO) == 1 ? terminal_width(STDOUT_FILENO) : any_width;
  std::fputs(comparison_table(compared(command, replay, scenario, extensions), width).c_str(), stdout);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace steelyard
