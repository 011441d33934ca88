#include "app/launch/launch.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "app/config/prepare_job.h"
#include "app/launch/local_cluster.h"
#include "app/launch/local_host.h"
#include "app/launch/results_there.h"
#include "app/launch/slurm_hosts.h"
#include "app/launch/socket_directory.h"
#include "app/launch/user_script.h"
#include "app/processes/initial_state.h"
#include "app/processes/processes.h"
#include "app/processes/run_journal.h"
#include "app/processes/signals.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/report/timeline.h"
#include "app/web/run_web.h"
#include "core/error.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

// Logs are in the directory of the results if both are on this machine; it is then created and locked here.
RunDirectory run_directory_here(const ResultOptions& results, const HostSpec& scheduler,
                                const std::string& job_name) {
  if (scheduler.has_our_files()) return choose_run_directory(results, job_name);
  RunDirectory run = choose_run_directory({}, job_name);
  std::error_code ignored;
  fs::remove(run.checkpoints(), ignored);  // the scheduler's host has them
  return run;
}

// The run directory on the scheduler's host. Its names are not known here, so this one is random. A restarted
// scheduler finds its run by this name.
std::string own_directory_there(const std::string& job_name) {
  return "runs/" + job_name + printed("-%08x", static_cast<unsigned>(new_node(Role::scheduler).number >> 32));
}

// What a launch on other hosts adds: the way to the page and to the results of its scheduler's host.
class OnOtherHosts {
 public:
  // Plan and directory must outlive this.
  OnOtherHosts(const LaunchPlan& plan, const RunDirectory& run, const LaunchOptions& options) : run_(run) {
    const auto host = std::ranges::find_if(plan.hosts, [](const auto& it) { return it.spec.scheduler; });
    const ResultOptions& results = options.results;
    fetches_ = options.fetch, fresh_ = !results.resume;
    if (!results.ready) note_results_there(run, there_.emplace(results_there(*host, results.directory)));
    if (!host->spec.is_here() && !results.web.empty()) tunnel_.emplace(*host, results.web);
  }

  void look() {
    if (tunnel_) tunnel_->look();
  }
  // Brings the results, or tells how. Returns the code of the launch.
  int finish(int code) {
    tunnel_.reset();
    if (removed_unused() || !there_) return code;
    if (!fetches_) {
      say("the results are on " + there_->place() + ": bring them with `" + there_->by_hand(run_.path()) +
          "` (or with --fetch)");
      return code;
    }
    try {
      fetch(*there_, run_);
      note_results_here(run_);
      say("the results are here now, in " + run_.path());
    } catch (const Failure& failure) {
      say(shown_lines(failure.what()));
      if (code == static_cast<int>(ExitCode::ok)) return static_cast<int>(failure.code());
    }
    return code;
  }

 private:
  static void say(const std::string& text) { standard_error().line("steelyard: " + text); }
  // Nothing was started: no run is left that never was.
  bool removed_unused() {
    if (!fresh_ || fs::exists(run_.log("scheduler"))) return false;
    std::error_code ignored;
    fs::remove_all(run_.path(), ignored);
    return true;
  }

  const RunDirectory& run_;
  bool fetches_ = false, fresh_ = true;
  std::optional<ResultsThere> there_;
  std::optional<PageTunnel> tunnel_;
};

std::string way_back_there(const std::string& directory) {
  return "--run-dir " + directory + " --resume resumes from the last checkpoint, if one was written";
}

// Completes where the results go. Locks the run directory if they are here.
void settle_results(ResultOptions& results, const HostSpec& scheduler, const RunDirectory& run,
                    const std::string& job_name, bool trace, std::optional<RunLock>& lock) {
  results.ready = scheduler.has_our_files();
  if (results.ready) {
    lock.emplace(run.path());
    // Other processes may have a different working directory.
    const bool elsewhere = !scheduler.directory.empty() || !scheduler.is_here() || trace;
    results.directory = elsewhere ? fs::absolute(run.path()).string() : run.path();
  } else if (results.directory.empty()) {
    results.directory = own_directory_there(job_name);
  }
}

struct Setup {
  JobFile job;
  HostsFile hosts;
  // Throws Failure if the job cannot resume from a checkpoint. Set only if all processes run on this machine
  // and the model is known.
  std::function<void(const std::string& checkpoint)> require_resumable;
};

// Errors that the scheduler or a worker on this machine would report are found before anything is created or
// started. On other machines only their own processes can find them.
Setup set_up(const LaunchOptions& options) {
  if (!options.is_here()) {
    HostsFile hosts = options.slurm ? slurm_hosts(this_allocation()) : read_hosts_file(*options.hosts_file);
    JobFile job = job_for_hosts(options, hosts);
    if (options.slurm && job.shards_per_worker == 0)
      place_servers(hosts, job.servers, job.job.shards / job.servers);
    return {std::move(job), std::move(hosts), {}};
  }
  if (options.script) {
    const bool started_here = !options.script->path.empty();
    if (started_here) require_script(*options.script);
    if (!options.results.resume_from.empty()) require_checkpoint(options.results.resume_from);
    JobFile job = job_for_script(options);
    HostsFile hosts = this_machine(job, started_here);
    return {std::move(job), std::move(hosts), {}};
  }
  JobFile file = read_job_file(options.job_file, options.overrides);
  Job job = file.job;
  const Workload workload = workload_of(job);
  const ModelDescription model = describe(workload);
  complete(job, model);
  for (const WorkerSpec& worker : file.worker_specs) (void)device_of(worker);
  const auto require_resumable = [job, source = sample_source(job, model)](const std::string& from) {
    (void)check_resumable(from, read_manifest(from), job, source);
  };
  if (const std::string& from = options.results.resume_from; !from.empty()) {
    require_checkpoint(from);
    require_resumable(from);
  }
  HostsFile hosts = this_machine(file);
  return {std::move(file), std::move(hosts), require_resumable};
}

void require_all_reachable(const LaunchOptions& options, const LaunchPlan& plan) {
  for (const LaunchHost& host : plan.hosts) {
    require_reachable(host);
    if (options.script && host.spec.has_our_files() && !host.spec.workers.empty())
      require_script(*options.script, host.spec.directory);
  }
}

// The directory of the sockets of a cluster on this machine; empty for a cluster with a hosts file.
std::string sockets_for(const LaunchOptions& options, std::optional<SocketDirectory>& own) {
  if (!options.is_here()) return "";
  if (!options.script || options.script->sockets.empty()) return own.emplace().path();
  const std::string path = fs::absolute(options.script->sockets).lexically_normal().string();
  require_room_for_sockets(path);
  return path;
}

void show_timeline(const RunDirectory& run) {
  const Timeline timeline = timeline_of({run.trace()});
  write_text(run.timeline(), timeline.json);
  for (const std::string& note : timeline.notes) standard_error().line("steelyard: " + note);
  std::printf("  %s shows what each process did when: open it in ui.perfetto.dev\n", run.timeline().c_str());
}

// What scripts on this machine need beside the sockets: the file that names the directory of the results,
// and the way to further jobs. The file exists as long as this.
class ForScripts {
 public:
  ForScripts(LaunchPlan& plan, const LaunchOptions& given, const RunDirectory& run, const std::string& name,
             const std::string& sockets) {
    if (!given.script) return;
    plan.not_joined = remedy_for_not_joining(*given.script);
    if (!plan.here) return;
    if (plan.workers() > 0) plan.further = further_runs(given, name, sockets);
    file_ = sockets + "/run_dir";
    std::ofstream(file_) << fs::absolute(run.path()).string();
  }
  ~ForScripts() {
    std::error_code ignored;
    if (!file_.empty()) fs::remove(file_, ignored);
  }
  ForScripts(const ForScripts&) = delete;
  ForScripts& operator=(const ForScripts&) = delete;

 private:
  std::string file_;
};

// The checkpoint that the scheduler will load.
void require_newest(const std::function<void(const std::string&)>& require, const ResultOptions& results,
                    const RunDirectory& run) {
  if (!results.resume || !results.resume_from.empty()) return;
  const std::vector<std::string> there = list_checkpoints(run.checkpoints());
  if (!there.empty()) require(there.front());
}

constexpr Duration attend_tick = std::chrono::milliseconds(20);
constexpr Duration attend_farewell = std::chrono::seconds(5);

}  // namespace

int run_launch(const LaunchOptions& given) {
  const pid_t parent = getppid();
  LaunchOptions options = given;
  const bool here = options.is_here();
  const auto [job, hosts, require_resumable] = set_up(options);
  for (const auto& notices : {hosts.notices, job.notices}) show_notices(notices);
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  if (!here) {
    const LaunchPlan plan = make_launch_plan(options, hosts, job, self);
    if (options.dry_run) {
      std::fputs(describe_plan(plan).c_str(), stdout);
      return static_cast<int>(ExitCode::ok);
    }
    require_all_reachable(options, plan);
  }

  ResultOptions& results = options.results;
  const HostSpec& scheduler = hosts.scheduler();
  // Fails on a port in use before creating a run directory, which would block the next attempt.
  if (here && !results.web.empty()) RunWeb{results.web};
  const RunDirectory run = run_directory_here(results, scheduler, job.job.name);
  std::optional<RunLock> lock;
  settle_results(results, scheduler, run, job.job.name, options.trace, lock);
  if (require_resumable) require_newest(require_resumable, results, run);
  if (results.ready) fs::remove(run.journal());  // of an earlier process: this one starts afresh
  // The scheduler completes the job of a script and writes it; until then an existing file stays unchanged.
  if (!options.script || !fs::exists(run.job())) write_text(run.job(), job.resolved);
  if (here) {
    results.lock = lock->descriptor();
  } else {
    lock.reset();  // the scheduler locks it
  }

  const auto way_back = [&] { return results.ready ? run.way_back() : way_back_there(results.directory); };
  const std::string others = here ? "" : "the processes on all hosts stop on their own; ";
  std::atomic<bool> interrupted = false, save = false;
  const SignalWatch signals([&](int) { interrupted = true; },
                            {"Ctrl-C again exits immediately", [&] { return others + way_back(); }}, {},
                            [&] { save = true; });
  std::optional<SocketDirectory> own_sockets;
  const std::string sockets = sockets_for(options, own_sockets);
  LaunchPlan plan = make_launch_plan(options, hosts, job, self, sockets);
  if (plan.keyed) give_keys(plan);
  const ForScripts for_scripts(plan, given, run, job.job.name, sockets);
  std::optional<OnOtherHosts> others_too;
  if (!here) others_too.emplace(plan, run, options);
  // The parent of a cluster without workers owns the workers, or is one; the cluster stops when it exits.
  const auto left_alone = [&] { return plan.workers() == 0 && getppid() != parent; };
  const auto stops = [&] {
    if (others_too) others_too->look();
    return interrupted || left_alone();
  };
  const int code = run_cluster(plan, run, results.lock, options.quiet, way_back,
                               {stops, [&] { return save.exchange(false); }});
  if (others_too) return others_too->finish(code);
  if (options.trace && fs::is_directory(run.trace())) show_timeline(run);
  return code;
}

int run_attend(const AttendOptions& options) {
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) {
    refuse_setup("there is no directory " + options.directory +
                 " to run in: create it, or correct directory = in the hosts file");
  }
  std::atomic<bool> told_to_end = false;
  const SignalWatch signals([&](int) { told_to_end = true; }, {});
  LineReader in(Descriptor(dup(STDIN_FILENO)), longest_launch_line);
  LineWriter out(Descriptor(dup(STDOUT_FILENO)));
  LocalHost host;
  Time heard = steady_now(),
       timeout = Time::max();  // until SIGTERM, then SIGKILL, for all
  for (bool ending = false, asked = false;; std::this_thread::sleep_for(attend_tick)) {
    const Time now = steady_now();
    for (const std::string& line : in.read()) {
      heard = now;
      const std::optional<ToHost> message = to_host(line);
      if (message && !ending) host.tell(*message);
    }
    const bool over = host.over();
    for (const FromHost& message : host.hear(now)) out.add(to_line(message));
    out.flush();
    const bool alone = in.ended() || out.broken() || now - heard > from_seconds(options.silence);
    if (ending && over) return static_cast<int>(ExitCode::ok);
    if (!ending && (told_to_end || alone)) {
      if (options.grace == 0) return static_cast<int>(ExitCode::ok);  // ~LocalHost kills all
      ending = true;
      timeout = now + from_seconds(options.grace);
      host.tell(SignalProcess{"scheduler", SIGTERM});
    }
    if (now > timeout) {
      if (asked) return static_cast<int>(ExitCode::ok);  // ~LocalHost kills the remaining ones
      host.signal_all(SIGTERM);
      asked = true;
      timeout = now + attend_farewell;
    }
  }
}

}  // namespace steelyard
