#include "app/tools/compare_command.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <sstream>

#include "app/config/job_source.h"
#include "app/config/registry.h"
#include "app/config/scenario_file.h"
#include "app/launch/user_script.h"
#include "app/processes/signals.h"
#include "app/report/compare/comparison_table.h"
#include "app/report/compare/html.h"
#include "app/report/output_file.h"
#include "app/report/page/page.h"
#include "app/report/progress_bar.h"
#include "app/report/run_directory.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/tools/compare_jobs.h"
#include "app/tools/compare_scenarios.h"
#include "app/tools/simulate_command.h"
#include "app/web/place.h"
#include "balancing/policies.h"
#include "core/error.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

std::string read(const std::string& path) {
  return read_input(path, {"job or scenario", 16,
                           "check the name; examples/jobs and examples/scenarios have files to start with"});
}

// One file, parsed and not yet run.
struct Prepared {
  Comparison comparison;
  std::optional<ComparedJob> job;
  std::optional<sim::Scenario> scenario;
};

void enter(Comparison& comparison, const std::vector<Contender>& contenders) {
  for (const Contender& contender : contenders) comparison.entries.push_back({contender, {}});
}

Prepared prepare_scenario(const CompareCommand& command, const std::string& file) {
  if (!command.run_directory.empty()) refuse_usage(file + " is a scenario: --run-dir is for jobs");
  if (!command.web.empty()) refuse_usage(file + " is a scenario: --web is for jobs");
  Prepared it;
  it.scenario = read_scenario(file, command.overrides);
  if (command.target && it.scenario->training == nullptr) {
    refuse_usage("--target: " + file +
                 " does not train, so it has no accuracy: leave it out, or give train = true in [job] "
                 "(steelyard help scenario)");
  }
  tell_notes(*it.scenario);
  it.comparison.kind = "scenario";
  it.comparison.name = it.scenario->name;
  it.comparison.seed = command.seed.value_or(it.scenario->seed);
  it.comparison.target = it.scenario->target_accuracy;
  enter(it.comparison, read_entrants(command.policies, command.sync,
                                     sim::simulated_policies(registry().policies), it.scenario->sync));
  return it;
}

ComparedJob compared(const CompareCommand& command, const std::string& path) {
  ComparedJob job{path, command.overrides, {}, command.web};
  if (!is_script(path)) {
    job.file = parse_job(read(path), path, command.overrides);
    show_notices(job.file.notices);
    return job;
  }
  LaunchOptions options;
  options.script = job.script = ScriptOptions{path, {}, command.workers, {}};
  options.overrides = command.overrides;
  require_script(*job.script);
  job.file = job_for_script(options);
  return job;
}

// All policies but `static`, which without a profile is the same as `equal`.
std::vector<std::string> sensible_policies() {
  std::vector<std::string> names = balancing::policy_names(registry().policies);
  std::erase(names, "static");
  return names;
}

Prepared prepare_job(const CompareCommand& command, const std::string& path) {
  Prepared it;
  it.job = compared(command, path);
  const Job& job = it.job->file.job;
  it.comparison.kind = "job";
  it.comparison.name = job.name;
  it.comparison.seed = command.seed.value_or(job.seed);
  it.comparison.target = job.target_accuracy;
  const auto known =
      command.policies.empty() ? sensible_policies() : balancing::policy_names(registry().policies);
  const std::vector<Contender> contenders =
      read_entrants(command.policies, command.sync, known, sync_text(job.sync));
  enter(it.comparison, contenders);
  for (const std::string& reason : refusals(*it.job, contenders)) {
    std::fprintf(stderr, "steelyard: will not run: %s\n", reason.c_str());
  }
  return it;
}

Prepared prepare(const CompareCommand& command, const std::string& file) {
  const bool scenario = !is_script(file) && kind_of(read(file), file) == FileKind::scenario;
  Prepared it = scenario ? prepare_scenario(command, file) : prepare_job(command, file);
  it.comparison.repeats = command.repeats;
  if (command.target) it.comparison.target = *command.target;
  return it;
}

// The command for each value of the sweep, with the suffix of the comparison's name.
std::vector<std::pair<CompareCommand, std::string>> swept(const CompareCommand& command) {
  if (command.sweep.empty()) return {{command, ""}};
  const std::size_t equals = command.sweep.find('=');
  std::vector<std::pair<CompareCommand, std::string>> all;
  std::istringstream values(equals == std::string::npos ? "" : command.sweep.substr(equals + 1));
  for (std::string value; std::getline(values, value, ',');) {
    const std::string setting = command.sweep.substr(0, equals + 1) + value;
    all.emplace_back(command, ", " + setting);
    all.back().first.overrides.push_back(setting);
  }
  if (!all.empty()) return all;
  refuse_usage("--sweep " + command.sweep + ": give a key and its values, as in network.step_ms=5,50,500");
}

// Makes a directory for all runs of one job, and copies the job into it, since the file may be edited
// meanwhile.
void settle(Prepared& it, const CompareCommand& command) {
  const std::string& directory = it.comparison.directory =
      fresh_directory(command.run_directory, "compare-" + it.job->file.job.name);
  if (it.job->script) return;
  const std::string text = read(it.job->path);
  it.job->path = directory + "/job.toml";
  write_text(it.job->path, text);
}

// Prints one line for each run.
void tell_progress(Contest& contest) {
  contest.begins = [](const Contender& contender, std::uint64_t repeat, std::size_t done, std::size_t of) {
    std::fprintf(stderr, "[%zu/%zu] %s, repeat %llu: ", done + 1, of, label(contender).c_str(),
                 static_cast<unsigned long long>(repeat) + 1);
    std::fflush(stderr);
  };
  contest.ended = [](const Trial& trial) {
    if (!trial.good()) {
      std::fprintf(stderr, "failed: %s\n", shown_line(trial.failure).c_str());
      return;
    }
    std::fprintf(stderr, "%.2f s, %.0f samples/s", trial.seconds, trial.samples_per_s());
    if (trial.accuracy >= 0) std::fprintf(stderr, ", %.2f %%", 100 * trial.accuracy);
    std::fputs("\n", stderr);
  };
}

void compare(Prepared& it, const CompareCommand& command, const std::atomic<bool>& interrupted) {
  Contest contest;
  if (it.job) {
    settle(it, command);
    contest = job_contest(*it.job, it.comparison.directory, it.comparison.seed, interrupted);
    tell_progress(contest);
  } else {
    contest = scenario_contest(*it.scenario, it.comparison.seed);
    contest.interrupted = [&interrupted] { return interrupted.load(); };
  }
  run_all(it.comparison, contest);
  if (!it.job) return;
  write_text(it.comparison.directory + "/compare.json", comparison_json({it.comparison}));
  write_text(it.comparison.directory + "/compare.html", page(comparison_document({it.comparison})));
}

// The runs serve it one after another, so they need a port that is known before.
void tell_web(const std::string& web) {
  if (web.empty()) return;
  const HostPort place = web_place(web);
  if (place.port == "0") refuse_usage("--web " + web + ": give a port, as in --web :7080");
  std::fprintf(stderr, "the page of the current run: http://%s/\n",
               with_port(place.host, place.port).c_str());
}

int exit_code(const std::vector<Comparison>& comparisons) {
  ExitCode code = ExitCode::ok;
  for (const Comparison& comparison : comparisons) {
    for (const Row& row : summarise(comparison)) {
      if (row.failed > 0) code = ExitCode::failed;
    }
    if (comparison.interrupted) return static_cast<int>(ExitCode::temporary);
  }
  return static_cast<int>(code);
}

}  // namespace

int run_compare(const CompareCommand& command) {
  if (command.json == "-" && command.html == "-")
    refuse_usage("--json - and --html -: only one of them can go to standard output");
  check_output("--json", command.json);
  check_output("--html", command.html);
  std::vector<Prepared> all;
  std::size_t jobs = 0;
  for (const std::string& file : command.files) {
    for (const auto& [one, which] : swept(command)) {
      all.push_back(prepare(one, file));
      all.back().comparison.name += which;
      if (all.back().job && ++jobs > 1 && !command.run_directory.empty())
        refuse_usage("--run-dir is one directory: give one job at a time, and no --sweep");
    }
  }
  tell_web(command.web);
  std::atomic<bool> interrupted = false;
  const SignalWatch signals(
      [&](int) { interrupted = true; },
      {"stopping the current run; Ctrl-C again exits immediately", [] { return "completed runs are kept"; }});
  std::vector<Comparison> done;
  const bool table = command.json != "-" && command.html != "-";
  const std::size_t width = isatty(STDOUT_FILENO) == 1 ? terminal_width(STDOUT_FILENO) : any_width;
  for (Prepared& it : all) {
    compare(it, command, interrupted);
    done.push_back(it.comparison);
    if (table) {
      std::printf("%s%s", done.size() > 1 ? "\n" : "", comparison_table(it.comparison, width).c_str());
      if (it.job) std::printf("  page: %s/compare.html\n", it.comparison.directory.c_str());
      std::fflush(stdout);
    }
    if (interrupted) break;
  }
  if (!command.json.empty()) write_output("--json", command.json, comparison_json(done));
  if (!command.html.empty()) write_output("--html", command.html, page(comparison_document(done)));
  return interrupted ? static_cast<int>(ExitCode::temporary) : exit_code(done);
}

}  // namespace steelyard
