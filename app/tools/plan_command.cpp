#include "app/tools/plan_command.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <optional>

#include "app/config/job_source.h"
#include "app/config/prepare_job.h"
#include "app/processes/signals.h"
#include "app/report/output_file.h"
#include "app/report/run_directory.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/report/text_table.h"
#include "app/tools/batch_advice.h"
#include "app/tools/plan_text.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr double all_trials_s = 45;  // by default
constexpr double checked_rounds = 12, longest_check_s = 60;

// Standard output has the JSON or the measurements alone, if they are wanted there.
void tell(const PlanCommand& command, const std::string& text) {
  if (command.json == "-" || command.output == "-") return;
  const std::size_t width = width_of_output();
  for_each_line(shown_lines(text), [&](std::string_view line) {
    const bool sentence = !line.starts_with("  ");  // the others are tables and commands
    const std::string shown = sentence && width > 0 ? wrapped(line, width, 2) : std::string(line);
    std::printf("%s\n", shown.c_str());
  });
  std::fflush(stdout);
}

std::vector<std::string> names_of(const HostsFile& hosts) {
  std::vector<std::string> names;
  for (const HostSpec& host : hosts.hosts)
    for (const HostWorker& worker : host.workers) names.push_back(worker.spec.name);
  return names;
}

// The hosts without the workers of --without.
HostsFile hosts_of(const PlanCommand& command) {
  HostsFile hosts = read_hosts_file(command.hosts_file);
  show_notices(hosts.notices);
  if (const HostSpec& host = hosts.scheduler(); !host.has_our_files()) {
    refuse_setup(command.hosts_file + ": the scheduler is on host '" + host.name +
                 "', which has other files, and the plan reads the records of its runs: run `steelyard plan` "
                 "there, or give a host on this machine scheduler = true");
  }
  std::vector<std::string> names = names_of(hosts);
  for (const std::string& name : command.without) {
    if (std::ranges::find(names, name) == names.end())
      refuse_usage("--without " + name + ": " + command.hosts_file + " has no such worker" +
                   among(name, names));
  }
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::find(command.without, name) != command.without.end();
  });
  if (names.empty()) refuse_usage("--without: no worker is left");
  return with_workers(std::move(hosts), names);
}

Job job_with(const PlanCommand& command, const HostsFile& hosts, const std::vector<std::string>& settings) {
  LaunchOptions options;
  options.job_file = command.job_file;
  options.overrides = command.overrides;
  options.overrides.insert(options.overrides.end(), settings.begin(), settings.end());
  return job_for_hosts(options, hosts).job;
}

// The modes that this job can use. `why`: gets a line for each of the others.
std::vector<PlanMode> possible_modes(const PlanCommand& command, const HostsFile& hosts, Job& complete_job,
                                     std::string& why) {
  std::vector<PlanMode> modes;
  for (const PlanMode& mode : plan_modes()) {
    try {
      Job job = job_with(command, hosts, settings_of(mode));
      complete(job, described(workload_of(job)));
      if (modes.empty()) complete_job = job;
      modes.push_back(mode);
    } catch (const Failure& failure) {
      if (&mode == &plan_modes().front()) throw;
      why += "without " + mode.text() + ": " + failure.what() + "\n";
    }
  }
  return modes;
}

// Options of all launches of this plan: trials and the final command.
std::vector<std::string> launch_options(const PlanCommand& command) {
  std::vector<std::string> words;
  if (command.exchange != exchanges.front()) words = {"--exchange", command.exchange};
  for (const std::string& setting : command.overrides) words.insert(words.end(), {"--set", setting});
  return words;
}

class PlanSession {
 public:
  PlanSession(const PlanCommand& command, const HostsFile& hosts, const Job& job,
              const std::string& directory, const std::atomic<bool>& interrupted)
      : command_(command),
        job_(job),
        hosts_(hosts),
        names_(names_of(hosts)),
        seconds_(command.seconds > 0
                     ? command.seconds
                     : std::max(2.0, all_trials_s / static_cast<double>(2 * names_.size() + 1))),
        trials_(directory, hosts, command.job_file, launch_options(command), interrupted) {}

  std::vector<MeasuredWorker> measured() const {
    std::vector<MeasuredWorker> all = command_.measured.empty() ? measured_now() : measured_before();
    for (const HostSpec& host : hosts_.hosts)
      for (const HostWorker& worker : host.workers)
        std::ranges::find(all, worker.spec.name, &MeasuredWorker::name)->max_batch = worker.spec.max_batch;
    return all;
  }

  // Runs a candidate for a number of rounds, for a minute at most.
  [[nodiscard]] RunRecord checked(const Candidate& it) const {
    const std::uint64_t batches = parse_sync(it.mode.sync).batches();
    const double round_s = static_cast<double>(batches * job_.global_batch) / std::max(it.rate, 1e-9);
    const double seconds = std::max(seconds_, std::min(checked_rounds * round_s, longest_check_s));
    std::fprintf(stderr, "[check] %s with %s, %.1f s\n", it.mode.text().c_str(),
                 shown_line(joined(it.workers)).c_str(), seconds);
    return trials_.run("check", it.workers, seconds, settings_of(it.mode));
  }

 private:
  [[nodiscard]] std::vector<MeasuredWorker> measured_now() const {
    std::vector<MeasuredWorker> all;
    for (const std::string& name : names_) {
      std::fprintf(stderr, "[%zu/%zu] %s alone, twice %.1f s\n", all.size() + 1, names_.size(),
                   shown_line(name).c_str(), seconds_);
      const RunRecord whole = alone(name, "float32", job_.global_batch);
      const RunRecord coded = alone(name, "int4", small_batch());
      all.push_back(measured_worker(name, whole, coded, coded_share(FloatCode::int4)));
    }
    return all;
  }
  [[nodiscard]] RunRecord alone(const std::string& name, const std::string& code, std::uint64_t batch) const {
    return trials_.run(name + "-" + code, {name}, seconds_,
                       {"cluster.sync=bsp", "cluster.policy=equal", "cluster.push_encoding=" + code,
                        "cluster.pull_encoding=" + code, "train.batch=" + std::to_string(batch)});
  }
  // A typical share: a quarter of the batch, in whole grains.
  [[nodiscard]] std::uint64_t small_batch() const {
    const std::uint64_t quarter = job_.global_batch / 4 / job_.grain * job_.grain;
    return std::clamp<std::uint64_t>(quarter, std::min<std::uint64_t>(job_.grain, job_.global_batch),
                                     job_.global_batch);
  }
  [[nodiscard]] std::vector<MeasuredWorker> measured_before() const {
    const InputKind kind{"measurements", 16, "give the measured.json of an earlier `steelyard plan`"};
    std::vector<MeasuredWorker> known =
        parse_measurements(read_input(command_.measured, kind), command_.measured);
    std::vector<MeasuredWorker> all;
    for (const std::string& name : names_) {
      const auto found = std::ranges::find(known, name, &MeasuredWorker::name);
      if (found == known.end()) {
        refuse_setup(command_.measured + ": has no measurements of worker '" + name +
                     "': measure again without --measured, or leave it out with --without " + name);
      }
      all.push_back(*found);
    }
    return all;
  }

  const PlanCommand& command_;
  const Job& job_;
  const HostsFile& hosts_;
  const std::vector<std::string> names_;
  const double seconds_;
  const Trials trials_;
};

std::string launch_line(const PlanCommand& command, const std::string& hosts, const PlanMode& mode,
                        const std::string& profile_ms) {
  std::vector<std::string> words{"steelyard", "launch", hosts, command.job_file};
  for (const std::string& word : launch_options(command)) words.push_back(word);
  for (const std::string& setting : settings_of(mode)) words.insert(words.end(), {"--set", setting});
  words.insert(words.end(), {"--set", "cluster.profile_ms=" + profile_ms});
  return shell_line(words);
}

// The best candidate of existing workers only; null if no candidate qualifies.
const Candidate* best_there(const std::vector<Candidate>& ranked, const std::vector<std::string>& there) {
  for (const Candidate& it : ranked) {
    if (std::ranges::all_of(it.workers, [&](const std::string& name) {
          return std::ranges::find(there, name) != there.end();
        }))
      return &it;
  }
  return nullptr;
}

// Those that compute what the job asks for, if there are any.
std::vector<Candidate> exact_ones(const std::vector<Candidate>& ranked) {
  std::vector<Candidate> exact;
  for (const Candidate& it : ranked) {
    if (caution(it.mode).empty()) exact.push_back(it);
  }
  return exact.empty() ? ranked : exact;
}

// Writes what starts a candidate, and checks it if that is wanted.
Recommended recommended(const PlanCommand& command, const HostsFile& hosts, const Candidate& it,
                        const std::vector<MeasuredWorker>& measured, const std::string& file) {
  write_text(file, hosts_text(with_workers(hosts, it.workers)));
  return {&it, file, launch_line(command, file, it.mode, profile_ms_of(measured, it.workers))};
}

std::string start_text(const Recommended& it) { return "to start it:\n  " + it.command + "\n"; }

}  // namespace

void run_plan(const PlanCommand& command) {
  check_output("--output", command.output);
  check_output("--json", command.json);
  const auto say = [&](const std::string& text) { tell(command, text); };
  std::vector<AddedWorker> added;
  for (const std::string& text : command.added) added.push_back(parse_added(text));
  const HostsFile hosts = hosts_of(command);
  const std::vector<std::string> there = names_of(hosts);
  Job job;
  std::string why;
  const std::vector<PlanMode> modes = possible_modes(command, hosts, job, why);
  say(why);
  const std::string directory = fresh_directory(command.run_directory, "plan-" + job.name);

  std::atomic<bool> interrupted = false;
  const SignalWatch signals(
      [&](int) { interrupted = true; },
      {"stopping the trial; Ctrl-C again exits immediately", [] { return "no plan was made"; }});
  const PlanSession planner(command, hosts, job, directory, interrupted);
  std::vector<MeasuredWorker> measured = planner.measured();
  write_text(directory + "/measured.json", measurements_text(measured));
  if (!command.output.empty()) write_output("--output", command.output, measurements_text(measured));
  for (const AddedWorker& it : added) add_worker(measured, it);

  say(measured_table(measured, job.global_batch, megabytes(job)));
  const std::vector<Candidate> ranked =
      ranked_candidates(job, measured, modes, [&] { return interrupted.load(); });
  const std::vector<Candidate> compared = exact_ones(ranked);
  const Candidate* fastest = best_there(ranked, there);
  const Candidate* exact = best_there(compared, there);
  const Candidate* best = exact != nullptr ? exact : fastest;
  if (interrupted || best == nullptr) throw Failure(ExitCode::temporary, "interrupted: no plan was made");
  write_text(directory + "/candidates.json", candidates_json(ranked));
  const std::optional<BatchAdvice> advice = batch_advice(job, measured);
  say(candidate_table(ranked) + worth_table(compared, measured) +
      (advice ? advice_text(*advice, job.global_batch) : ""));
  if (best != &compared.front())
    say("the best candidate needs a worker that does not exist yet; the best one of existing workers:\n");
  const std::optional<RunRecord> trial = command.check ? std::optional(planner.checked(*best)) : std::nullopt;
  if (trial) say(checked_text(best->rate, *trial));
  Recommended first = recommended(command, hosts, *best, measured, directory + "/hosts.toml");
  if (trial) first.measured = steady_rate(*trial);
  say(caution(best->mode) + start_text(first));
  std::optional<Recommended> other;
  if (caution(best->mode).empty() && !caution(fastest->mode).empty()) {
    other = recommended(command, hosts, *fastest, measured, directory + "/hosts_other.toml");
    say(other_mathematics_text(*best, *fastest) + start_text(*other));
  }
  if (command.json.empty()) return;
  Json json = plan_json(ranked, compared, measured, first, other ? &*other : nullptr);
  json["slow_workers"] = advice ? advice_json(*advice) : Json();
  write_output("--json", command.json, dump_json(json, 2) + "\n");
}

}  // namespace steelyard
