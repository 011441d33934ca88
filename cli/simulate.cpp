#include "cli/simulate.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "cli/near_match.h"
#include "cli/scenario_file.h"
#include "core/error.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

constexpr std::size_t shares_shown = 16;  // more workers than that are told by count

template <class... Values>
std::string print(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string shares_text(const sim::RoundResult& round) {
  std::string text;
  for (std::size_t i = 0; i < std::min(round.shares.size(), shares_shown); ++i) {
    text += (i == 0 ? "" : "+") + std::to_string(round.shares[i]);
  }
  const std::size_t more = round.shares.size() - std::min(round.shares.size(), shares_shown);
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

void write_json(const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file == stdout) good = good && std::fflush(file) == 0;
  if (file != nullptr && file != stdout) good = std::fclose(file) == 0 && good;
  if (good) return;
  const std::string why = std::strerror(errno);
  throw Failure(ExitCode::io,
                path + ": the result could not be written (" + why + "); give --json another place");
}

void choose(sim::Scenario& scenario, const std::string& sync, const std::optional<std::uint64_t>& seed) {
  if (!sync.empty()) scenario.sync = sync;
  if (seed) scenario.seed = *seed;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// Everything is asked for before anything long is done.
std::vector<std::string> policies_of(const CompareCommand& command) {
  const std::vector<std::string> known = sim::simulated_policies();
  if (command.policies.empty()) return known;
  const std::vector<std::string> chosen = split(command.policies);
  for (const std::string& name : chosen) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Failure(ExitCode::usage, "--policies " + command.policies + ": unknown policy '" + name + "'" +
                                         did_you_mean(name, known) + " (there are: " + joined(known) + ")");
    }
  }
  if (chosen.empty()) throw Failure(ExitCode::usage, "--policies: name at least one of " + joined(known));
  return chosen;
}

Comparison compare(sim::Scenario scenario, const std::vector<std::string>& policies) {
  Comparison comparison;
  const double ideal_s = sim::ideal_seconds(scenario);
  for (const std::string& policy : policies) {
    scenario.policy = policy;
    comparison.results.push_back(sim::simulate(scenario, ideal_s));
    if (policy == "equal") comparison.equal_s = comparison.results.back().total_s();
  }
  if (comparison.equal_s == 0) {
    scenario.policy = "equal";
    comparison.equal_s = sim::simulate(scenario, ideal_s).total_s();
  }
  if (const auto best = sim::best_single_device(scenario)) {
    comparison.best_device = scenario.workers[*best].name;
    comparison.alone_s = sim::alone_seconds(scenario, *best);
  }
  return comparison;
}

std::string comparison_json(const Comparison& comparison) {
  const sim::Result& first = comparison.results.front();
  std::string text =
      "{\"scenario\":" + sim::json_text(first.scenario) + ",\"sync\":" + sim::json_text(first.sync) +
      ",\"seed\":" + std::to_string(first.seed) + ",\"ideal_s\":" + sim::json_number(first.ideal_s) +
      ",\"equal_s\":" + sim::json_number(comparison.equal_s) + ",\"best_single_device\":" +
      (comparison.best_device.empty() ? "null" : sim::json_text(comparison.best_device)) +
      ",\"best_single_device_s\":" +
      (comparison.best_device.empty() ? "null" : sim::json_number(comparison.alone_s)) + ",\"policies\":[";
  for (const sim::Result& result : comparison.results) {
    const double seconds = result.total_s();
    if (&result != &first) text += ",";
    text += "{\"policy\":" + sim::json_text(result.policy) + ",\"total_s\":" + sim::json_number(seconds) +
            ",\"samples_per_s\":" + sim::json_number(result.samples_per_s()) +
            ",\"percent_of_ideal\":" + sim::json_number(result.percent_of_ideal()) +
            ",\"gain_over_equal\":" + sim::json_number(comparison.equal_s / seconds) +
            ",\"gain_over_best_single_device\":" +
            (comparison.best_device.empty() ? "null" : sim::json_number(comparison.alone_s / seconds)) +
            ",\"updates\":" + std::to_string(result.updates) + "}";
  }
  return text + "]}";
}

}  // namespace

std::string simulation_summary(const sim::Result& result) {
  const sim::RoundResult& last = result.last_full();
  const std::size_t tenth = std::min<std::size_t>(10, result.rounds.size()) - 1;
  return print("%s under %s, %s, seed %llu\n", result.scenario.c_str(), result.policy.c_str(),
               result.sync.c_str(), static_cast<unsigned long long>(result.seed)) +
         print("  rounds              %zu\n", result.rounds.size()) +
         print("  seconds             %.3f\n", result.total_s()) +
         print("  samples per second  %.1f\n", result.samples_per_s()) +
         print("  percent of ideal    %.1f   (ideal: %.3f s)\n", result.percent_of_ideal(), result.ideal_s) +
         print("  straggler effect    %.3f in the first round, %.3f in the %zu., %.3f in the last\n",
               result.rounds.front().se, result.rounds[tenth].se, tenth + 1, last.se) +
         print("  round               %.2f ms at first, %.2f ms at last\n", result.rounds.front().round_ms,
               last.round_ms) +
         "  final shares        " + shares_text(last) + "\n";
}

std::string comparison_table(const Comparison& comparison) {
  const sim::Result& first = comparison.results.front();
  std::string text =
      print("%s, %s, seed %llu, %zu rounds; ideal %.3f s", first.scenario.c_str(), first.sync.c_str(),
            static_cast<unsigned long long>(first.seed), first.rounds.size(), first.ideal_s);
  if (!comparison.best_device.empty()) {
    text += print("; best device alone: %s, %.3f s", comparison.best_device.c_str(), comparison.alone_s);
  }
  text += print("\n  %-12s %12s %12s %10s %14s %18s\n", "policy", "seconds", "samples/s", "% of ideal",
                "gain on equal", "gain on best alone");
  for (const sim::Result& result : comparison.results) {
    const double seconds = result.total_s();
    text += print("  %-12s %12.3f %12.1f %10.1f %14.2f", result.policy.c_str(), seconds,
                  result.samples_per_s(), result.percent_of_ideal(), comparison.equal_s / seconds);
    text += comparison.best_device.empty() ? print(" %18s\n", "-")
                                           : print(" %18.2f\n", comparison.alone_s / seconds);
  }
  return text;
}

std::string comparison_json(const std::vector<Comparison>& comparisons) {
  std::string text = "{\"scenarios\":[";
  for (const Comparison& it : comparisons)
    text += (&it == comparisons.data() ? "" : ",") + comparison_json(it);
  return text + "]}\n";
}

int run_simulate(const SimulateCommand& command) {
  sim::Scenario scenario = read_scenario(command.scenario_file);
  choose(scenario, command.sync, command.seed);
  if (!command.policy.empty()) scenario.policy = command.policy;
  const sim::Result result = sim::simulate(scenario);
  if (command.json != "-") std::fputs(simulation_summary(result).c_str(), stdout);
  if (!command.json.empty()) write_json(command.json, sim::to_json(result));
  return static_cast<int>(ExitCode::ok);
}

int run_compare(const CompareCommand& command) {
  const std::vector<std::string> policies = policies_of(command);
  std::vector<sim::Scenario> scenarios;
  for (const std::string& file : command.scenario_files) {
    scenarios.push_back(read_scenario(file));
    choose(scenarios.back(), command.sync, command.seed);
  }
  std::vector<Comparison> comparisons;
  for (const sim::Scenario& scenario : scenarios) {
    comparisons.push_back(compare(scenario, policies));
    if (command.json == "-") continue;
    std::fputs(((comparisons.size() > 1 ? "\n" : "") + comparison_table(comparisons.back())).c_str(), stdout);
    std::fflush(stdout);
  }
  if (!command.json.empty()) write_json(command.json, comparison_json(comparisons));
  return static_cast<int>(ExitCode::ok);
}

}  // namespace steelyard
