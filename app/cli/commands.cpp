#include "app/cli/commands.h"

#include <CLI/CLI.hpp>

#include "app/config/prepare_job.h"
#include "app/hosts/doctor_command.h"
#include "app/hosts/examination.h"
#include "app/hosts/installation.h"
#include "app/launch/launch.h"
#include "app/launch/process_options.h"
#include "app/launch/user_script.h"
#include "app/member/member.h"
#include "app/processes/process_keys.h"
#include "app/processes/processes.h"

namespace steelyard {
namespace {

constexpr const char* job_help = "the job file (TOML); `steelyard help job` describes it";
constexpr const char* hosts_help = "the machines (TOML); `steelyard help hosts` describes the file";
constexpr const char* script_help =
    "your program; its processes are the workers; run by $STEELYARD_PYTHON, or python3, "
    "if its name ends in .py";

// ---- the functions that the commands run

// --resume never guesses which run is meant.
void require_directory(const ResultOptions& results) {
  if (!results.resume || !results.directory.empty()) return;
  throw Failure(ExitCode::usage,
                "--resume needs --run-dir: the directory of the run to resume, as in --run-dir runs/job-1");
}

int train(const LaunchOptions& it) {
  require_directory(it.results);
  call_process("steelyard:train");
  return run_launch(it);
}

int run_script(LaunchOptions& it) {
  require_directory(it.results);
  const ScriptOptions& script = *it.script;
  if (!script.path.empty() && !is_script(script.path)) {
    refuse_usage("run " + script.path + ": this is a job file: run it with `steelyard train`");
  }
  if (script.path.empty() && script.sockets.empty()) {
    throw Failure(
        ExitCode::usage,
        "run needs a script, as in `steelyard run -n 2 train.py`, or --sockets DIR for workers that you "
        "start yourself");
  }
  call_process("steelyard:run");
  return run_launch(it);
}

// The argument is a job file or a script.
void tell_apart(LaunchOptions& it) {
  if (is_script(it.job_file)) {
    it.script->path = it.job_file;
  } else {
    it.script.reset();
  }
}

// With --hosts slurm the first word is the job.
int launch(LaunchOptions& it) {
  require_directory(it.results);
  if (it.slurm && it.job_file.empty() && it.hosts_file) {
    it.job_file = *it.hosts_file;
    it.hosts_file.reset();
  }
  if (it.slurm && it.hosts_file)
    refuse_usage("launch --hosts slurm " + *it.hosts_file + ": give a hosts file or --hosts slurm, not both");
  if (it.job_file.empty())
    refuse_usage(
        "launch needs hosts and a job, as in `steelyard launch hosts.toml job.toml` or "
        "`steelyard launch --hosts slurm job.toml`");
  tell_apart(it);
  return run_launch(it);
}

int examine_hosts(DoctorCommand& it) {
  tell_apart(it.launch);
  if (it.launch.job_file.empty()) it.launch.script.reset();
  return run_doctor(it);
}

int be_member(MemberOptions& it) {
  tell_apart(it.launch);
  call_process("steelyard:membr");
  return run_member(it);
}

struct SchedulerCommand {
  std::string job_file;
  std::vector<std::string> overrides;  // key=value
  SchedulerOptions options;
};

int schedule(const SchedulerCommand& it) {
  require_directory(it.options.results);
  call_process("steelyard:sched");
  return run_scheduler(it.options, read_job_file(it.job_file, it.overrides));
}

// A server or a worker.
template <class Options>
struct MemberCommand {
  std::string job_file;  // the only job that it may join; empty: any
  Options options;
};

int serve(MemberCommand<ServerOptions>& it) {
  call_process("steelyard:serve");
  it.options.fingerprint = job_fingerprint(it.job_file);
  return run_server(it.options);
}

int work(MemberCommand<WorkerOptions>& it) {
  call_process("steelyard:work");
  it.options.fingerprint = job_fingerprint(it.job_file);
  return run_worker(it.options);
}

// ---- their options

// Options of every command that starts a whole cluster.
void add_cluster(CLI::App& app, LaunchOptions& it, const std::string& where) {
  add_settings(app, it.overrides);
  add_keys(app, result_keys(it.results, where));
  add_exchange(app, it.exchange);
  app.add_flag("--quiet,-q", it.quiet, "print no progress, only the summary");
}

// For a cluster on this machine.
void add_trace_flag(CLI::App& app, LaunchOptions& it) {
  app.add_flag("--trace", it.trace,
               "write timeline.json into the run directory: what each process did when, for ui.perfetto.dev");
}

void add_train(Commands& all) {
  auto [app, it] =
      all.add("train", "run a job on this machine: starts scheduler, servers and workers", train);
  app.add_option("job", it.job_file, job_help)->required();
  add_cluster(app, it, "");
  add_trace_flag(app, it);
  app.footer(
      "Ctrl-C saves a checkpoint and stops all processes; a second Ctrl-C stops them at once.\nExamples:\n"
      "  steelyard train examples/jobs/demo.toml --web :7080\n"
      "  steelyard train examples/jobs/quick.toml --run-dir /tmp/quick\n"
      "  steelyard train examples/jobs/quick.toml --run-dir /tmp/quick --resume --set train.epochs=6");
}

void add_run(Commands& all) {
  auto [app, it] =
      all.add("run", "run a job on this machine with your script as the workers; the script brings the model",
              run_script);
  ScriptOptions& script = it.script.emplace();
  all.scripts.push_back(&script);
  app.add_option("script", script.path, std::string(script_help) + "; arguments after it are passed to it");
  app.add_option("--workers,-n", script.workers, "number of script processes: worker-0, worker-1, ...")
      ->default_str("1")
      ->check(CLI::Range(1, 1024));
  add_cluster(app, it, "");
  add_trace_flag(app, it);
  app.add_option("--sockets", script.sockets,
                 "directory for the sockets of the processes; without a script, connect workers that you "
                 "start yourself to ipc://DIR/scheduler, and the run stops when its parent process exits")
      ->type_name("DIR");
  app.footer(
      "Ctrl-C saves a checkpoint and stops all processes; a second Ctrl-C stops them at once.\nExamples:\n"
      "  steelyard run -n 4 train.py --width 64\n"
      "  steelyard run -n 2 --set worker.worker-1.simulate_slowdown=4 --set train.epochs=3 train.py");
}

void add_scheduler(Commands& all) {
  auto [app, it] =
      all.add("scheduler", "start one scheduler: plans the rounds; owns the job and its results", schedule);
  add_job(app, it.job_file, it.overrides);
  add_keys(app, process_keys(it.options));
  app.footer(
      "Ctrl-C finishes the round, saves a checkpoint and stops the job; a second Ctrl-C stops at once.\n"
      "Examples:\n"
      "  steelyard scheduler examples/jobs/quick.toml\n"
      "  steelyard scheduler examples/jobs/quick.toml --listen 0.0.0.0:7070 --keys ~/keys");
}

void add_standby(Commands& all) {
  auto [app, it] = all.add(
      "standby", "start one standby: follows a scheduler on another machine, and takes over if it is lost",
      run_standby);
  add_keys(app, process_keys(it));
  app.footer(
      "Give servers and workers both endpoints. Example:\n"
      "  steelyard standby --scheduler 10.0.0.1:7070 --listen 0.0.0.0:7070 --keys ~/keys\n"
      "  steelyard server --scheduler 10.0.0.1:7070,10.0.0.2:7070 --listen '0.0.0.0:*' --keys ~/keys");
}

void add_server(Commands& all) {
  auto [app, it] = all.add("server", "start one server: holds part of the model and sums gradients", serve);
  add_keys(app, process_keys(it.options));
  app.add_option("--job", it.job_file, "join only the job of this file (default: any job)");
  app.footer(
      "Examples:\n  steelyard server --scheduler 127.0.0.1:7070\n"
      "  steelyard server --scheduler 10.0.0.1:7070 --listen '0.0.0.0:*' --keys ~/keys");
}

void add_worker(Commands& all) {
  auto [app, it] = all.add("worker", "start one worker: computes gradients", work);
  add_keys(app, process_keys(it.options));
  app.add_option("--job", it.job_file, "join only the job of this file (default: any job)");
  app.footer(
      "Examples:\n  steelyard worker --scheduler 127.0.0.1:7070 --simulate-slowdown 2\n"
      "  steelyard worker --scheduler 10.0.0.1:7070 --name box-7 --keys ~/keys");
}

void add_launch(Commands& all) {
  auto [app, it] = all.add("launch", "run a job or a script on several machines, from this one", launch);
  all.scripts.push_back(&it.script.emplace());
  app.add_option("hosts_file", it.hosts_file, std::string(hosts_help) + "; left out with --hosts");
  app.add_option("job", it.job_file,
                 "the job file (TOML), or a script, as for `steelyard run`; arguments after a script are "
                 "passed to it");
  app.add_option_function<std::string>(
         "--hosts", [&slurm = it.slurm](const std::string&) { slurm = true; },
         "slurm: the nodes of this Slurm allocation, reached by srun, in place of a hosts file")
      ->type_name("SYSTEM")
      ->check([](const std::string& word) {
        return word == "slurm" ? std::string()
                               : "'" + word + "': give slurm, or a hosts file as the first argument, as in " +
                                     "`steelyard launch hosts.toml job.toml`";
      });
  add_cluster(app, it, "on the scheduler's host: ");
  app.add_flag("--insecure", it.insecure,
               "plain-text connections between machines (default: encrypted, with keys made for this run)");
  app.add_flag("--fetch", it.fetch,
               "at the end, bring the results from the scheduler's host to the run directory here");
  app.add_flag("--dry-run", it.dry_run, "print the commands without running them");
  app.footer(
      "Ctrl-C saves a checkpoint and stops all processes on all hosts; a second Ctrl-C does not wait for "
      "them.\n"
      "Examples:\n"
      "  steelyard launch examples/hosts.toml examples/jobs/quick.toml --dry-run\n"
      "  steelyard launch examples/hosts.toml train.py --width 64\n"
      "  steelyard launch --hosts slurm examples/jobs/quick.toml");
}

void add_member(Commands& all) {
  auto [app, it] = all.add(
      "member", "run one task of a job that srun, mpirun, torchrun or Kubernetes starts as N equal tasks",
      be_member);
  LaunchOptions& job = it.launch;
  all.scripts.push_back(&job.script.emplace());
  app.add_option("job", job.job_file,
                 "the job file (TOML), or a script, as for `steelyard run`; arguments after a script are "
                 "passed to it")
      ->required();
  app.add_option("--meet", it.meet,
                 "where the tasks find the scheduler: a directory that all of them share, or the address of "
                 "task 0, host:port")
      ->required();
  add_settings(app, job.overrides);
  std::vector<Key> results = result_keys(job.results, "of task 0: ");
  std::erase_if(results, [](const Key& key) { return key.name == "resume"; });
  results.front().help =
      "directory of the run, the same in each start; other tasks than 0 have only logs there";
  results.front().elsewhere.required = true;
  add_keys(app, results);
  app.add_option("--rank", it.numbers.rank, "number of this task, from 0 (default: as the engine tells)");
  app.add_option("--size", it.numbers.size, "number of tasks (default: as the engine tells)");
  add_list(app, "--role", it.roles, "ROLE",
           "this task has only this role: scheduler, server or worker, in unequal groups of tasks");
  app.add_option("--workers", it.workers, "with --role: number of tasks that are workers (default: all)");
  app.add_option("--keys", it.keys,
                 "a directory of keys with a key for each role, as in a mounted secret (default: --meet DIR "
                 "makes them)");
  app.add_flag("--insecure", job.insecure, "plain-text connections between tasks");
  app.add_option("--address", it.address,
                 "host name or address at which other tasks reach this one (default: found automatically)");
  app.add_option("--wait", it.wait,
                 "seconds to wait for the scheduler, at the start and whenever it is silent")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--grace", it.grace, "seconds that the engine leaves between SIGTERM and SIGKILL")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  add_exchange(app, job.exchange);
  app.add_flag("--quiet,-q", job.quiet, "print no progress, only the summary");
  app.footer(
      "N tasks are N workers; task 0 has the scheduler, too, and the first tasks have a server each.\n"
      "SIGTERM saves a checkpoint and ends the task; SIGUSR1 at task 0 saves one and continues. The same\n"
      "command again continues the job. Exit status 75: start it again; 78: never.\n"
      "Examples:\n"
      "  srun -n 4 steelyard member job.toml --run-dir runs/digits --meet runs/digits.meet\n"
      "  mpirun -np 4 steelyard member train.py --run-dir runs/digits --meet runs/digits.meet\n"
      "  torchrun --nproc_per_node 4 --no_python steelyard member job.toml --run-dir runs/digits \\\n"
      "    --meet 127.0.0.1:7070");
}

void add_install(Commands& all) {
  auto [app, it] = all.add("install", "copy this program to the hosts of a hosts file", run_install);
  app.add_option("hosts", it.hosts_file, hosts_help)->required();
  app.footer(
      "A host needs a shell, tar and gzip. The copy contains all libraries, and runs once before it "
      "replaces\n"
      "a former one; a host that has it is left alone. It goes to /usr/local for root, to ~/.local for "
      "others;\n"
      "steelyard = \"PREFIX/bin/steelyard\" in the hosts file gives another place.\n"
      "Example: steelyard install hosts.toml");
}

void add_doctor(Commands& all) {
  auto [app, it] =
      all.add("doctor", "check the hosts of a hosts file before a job, and print what to do", examine_hosts);
  LaunchOptions& job = it.launch;
  all.scripts.push_back(&job.script.emplace());
  app.add_option("hosts", job.hosts_file, hosts_help)->required();
  app.add_option("job", job.job_file,
                 "the job file (TOML), or a script: also checks its data, and memory and disk against its "
                 "needs");
  add_settings(app, job.overrides);
  add_json(app, it.json, "all results");
  app.footer(
      "Reaches each host as launch does, lets the hosts connect to each other as the job's processes will,\n"
      "and measures the lines. Exit status 0: launch finds all that it needs; else that of the first "
      "problem.\n"
      "Examples:\n  steelyard doctor hosts.toml\n  steelyard doctor hosts.toml job.toml --json doctor.json");
}

void add_examine(Commands& all) {
  all.add("examine", "internal: doctor runs it on each host", run_examine).app.group("");  // not in the help
}

void add_attend(Commands& all) {
  auto [app, it] = all.add("attend", "internal: launch runs it on each host", run_attend);
  app.group("");  // not in the help
  app.add_option("--directory", it.directory);
  app.add_option("--silence", it.silence)->check(CLI::Range(0.01, 1e6));
  app.add_option("--grace", it.grace)->check(CLI::Range(0.0, 1e6));
}

}  // namespace

CLI::App& Commands::add(const std::string& name, const std::string& help, Command command) {
  CLI::App& app = *app_.add_subcommand(name, help);
  app.callback([this, command = std::move(command)] { chosen = command; });
  return app;
}

void add_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
              const std::string& type, const std::string& help) {
  app.add_option(name, values, help + "; may be repeated")->type_name(type)->allow_extra_args(false);
}

void add_settings(CLI::App& app, std::vector<std::string>& overrides, const std::string& meaning) {
  add_list(app, "--set", overrides, "KEY=VALUE", meaning);
}

void add_job(CLI::App& app, std::string& file, std::vector<std::string>& overrides) {
  app.add_option("job", file, job_help)->required();
  add_settings(app, overrides);
}

void add_json(CLI::App& app, std::string& file, const std::string& what, const std::string& then) {
  app.add_option("--json", file, "write " + what + " as JSON to this file; - for standard output" + then);
}

void add_exchange(CLI::App& app, std::string& exchange) {
  Key key = exchange_key(exchange);
  key.elsewhere.environment = true;
  add_keys(app, {key});
}

void add_commands(Commands& all) {
  for (auto* const add :
       {add_train, add_run, add_scheduler, add_standby, add_server, add_worker, add_simulations, add_launch,
        add_member, add_install, add_doctor, add_plan, add_render, add_attend, add_examine, add_tools})
    add(all);
}

}  // namespace steelyard
