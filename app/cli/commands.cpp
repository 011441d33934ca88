#include "app/cli/commands.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>

#include "app/config/registry.h"
#include "app/launch/process_options.h"
#include "app/processes/process_keys.h"
#include "core/device_name.h"
#include "protocol/sync_mode.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

// CLI11 reads -1 as a very large number, and one that is too large as the largest.
const CLI::Validator natural =
    CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()).description("");

constexpr const char* job_help = "the job file (TOML); `steelyard help job` describes it";
constexpr const char* script_help = "the workers: a program of yours, run by Python if its name ends in .py";

void add_settings(CLI::App& app, std::vector<std::string>& overrides,
                  const std::string& meaning = "replace a key of the job file, as in train.lr=0.05") {
  app.add_option("--set", overrides, meaning + "; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_job(CLI::App& app, std::string& file, std::vector<std::string>& overrides) {
  app.add_option("job", file, job_help)->required();
  add_settings(app, overrides);
}

void add_exchange(CLI::App& app, std::string& exchange) {
  Key key = exchange_key(exchange);
  key.elsewhere.environment = true;
  add_keys(app, {key});
}

// Of a whole cluster, whatever it trains.
void add_cluster(CLI::App& app, LaunchOptions& it, const std::string& where) {
  add_settings(app, it.overrides);
  add_keys(app, result_keys(it.results, where));
  add_exchange(app, it.exchange);
  app.add_flag("--quiet,-q", it.quiet, "no progress, only the summary");
}

// Of a cluster on this machine.
void add_trace_flag(CLI::App& app, LaunchOptions& it) {
  app.add_flag(
      "--trace", it.trace,
      "write timeline.json into the run directory: which process did what when, for ui.perfetto.dev");
}

void add_train(CLI::App& parent, LaunchOptions& it) {
  CLI::App& app =
      *parent.add_subcommand("train", "run a job with a whole cluster of processes on this machine");
  app.add_option("job", it.job_file, job_help)->required();
  add_cluster(app, it, "");
  add_trace_flag(app, it);
  app.footer(
      "Ctrl-C saves a checkpoint and ends all processes; twice: at once.\nExamples:\n"
      "  steelyard train examples/jobs/quick.toml --run-dir /tmp/quick --web :7080\n"
      "  steelyard train examples/jobs/quick.toml --run-dir /tmp/quick --resume --set train.epochs=6");
}

void add_run(CLI::App& parent, LaunchOptions& it) {
  CLI::App& app = *parent.add_subcommand(
      "run", "run a script as the workers of a cluster of processes on this machine; it brings the model");
  ScriptOptions& script = it.script.emplace();
  app.add_option("script", script.path, std::string(script_help) + "; what stands behind it is its own");
  app.add_option("--workers,-n", script.workers, "so many processes of the script: worker-0, worker-1, ...")
      ->default_str("1")
      ->check(CLI::Range(1, 1024));
  add_cluster(app, it, "");
  add_trace_flag(app, it);
  app.add_option("--sockets", script.sockets,
                 "the directory in which processes find each other; without a script, workers come by "
                 "themselves, to ipc://DIR/scheduler, and all ends with the process that started it")
      ->type_name("DIR");
  app.footer(
      "Ctrl-C saves a checkpoint and ends all processes; twice: at once.\nExamples:\n"
      "  steelyard run -n 4 train.py --width 64\n"
      "  steelyard run -n 2 --set worker.worker-1.simulate_slowdown=4 --set train.epochs=3 train.py");
}

void add_scheduler(CLI::App& parent, SchedulerCommand& it) {
  CLI::App& app =
      *parent.add_subcommand("scheduler", "one role by hand: decides who does what; owns job and results");
  add_job(app, it.job_file, it.overrides);
  add_keys(app, process_keys(it.options));
  app.footer(
      "Ctrl-C finishes the round, saves a checkpoint and ends the job; twice: at once.\nExamples:\n"
      "  steelyard scheduler examples/jobs/quick.toml\n"
      "  steelyard scheduler examples/jobs/quick.toml --listen 0.0.0.0:7070 --keys ~/keys");
}

void add_standby(CLI::App& parent, StandbyOptions& it) {
  CLI::App& app = *parent.add_subcommand(
      "standby", "one role by hand: follows a scheduler on another machine, and leads when that is lost");
  add_keys(app, process_keys(it));
  app.footer(
      "Servers and workers are told both endpoints. Example:\n"
      "  steelyard standby --scheduler 10.0.0.1:7070 --listen 0.0.0.0:7070 --keys ~/keys\n"
      "  steelyard server --scheduler 10.0.0.1:7070,10.0.0.2:7070 --listen '0.0.0.0:*' --keys ~/keys");
}

void add_server(CLI::App& parent, ServerCommand& it) {
  CLI::App& app =
      *parent.add_subcommand("server", "one role by hand: holds a part of the model and sums gradients");
  add_keys(app, process_keys(it.options));
  app.add_option("--job", it.job_file, "take part in this job only");
  app.footer(
      "Examples:\n  steelyard server --scheduler 127.0.0.1:7070\n"
      "  steelyard server --scheduler 10.0.0.1:7070 --listen '0.0.0.0:*' --keys ~/keys");
}

void add_worker(CLI::App& parent, WorkerCommand& it) {
  CLI::App& app = *parent.add_subcommand("worker", "one role by hand: computes gradients");
  add_keys(app, process_keys(it.options));
  app.add_option("--job", it.job_file, "take part in this job only");
  app.footer(
      "Examples:\n  steelyard worker --scheduler 127.0.0.1:7070 --slow 2\n"
      "  steelyard worker --scheduler 10.0.0.1:7070 --name box-7 --keys ~/keys");
}

void add_launch(CLI::App& parent, LaunchOptions& it) {
  CLI::App& app = *parent.add_subcommand("launch", "run a job or a script on many machines, from this one");
  app.add_option("hosts", it.hosts_file, "the machines (TOML); `steelyard help hosts` describes the file")
      ->required();
  app.add_option("job", it.job_file,
                 "the job file (TOML), or a script, as `steelyard run` takes it: what stands behind a script "
                 "is its own")
      ->required();
  add_cluster(app, it, "on the scheduler's host: ");
  app.add_flag("--insecure", it.insecure,
               "plain text between machines; otherwise connections have keys, made for this run");
  app.add_flag("--dry-run", it.dry_run, "print the commands and run none");
  app.footer(
      "Ctrl-C saves a checkpoint and ends all processes on all hosts; twice: without waiting for them.\n"
      "Examples:\n"
      "  steelyard launch examples/hosts.toml examples/jobs/quick.toml --dry-run\n"
      "  steelyard launch examples/hosts.toml train.py --width 64");
}

void add_plan(CLI::App& parent, PlanCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "plan", "which machines and which sync mode are fastest: is it worth adding this one?");
  app.add_option("hosts", it.hosts_file, "the machines (TOML), as for launch; the scheduler's is this one")
      ->required();
  add_job(app, it.job_file, it.overrides);
  app.add_option("--without", it.without, "leave this worker out; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option(
         "--add", it.added,
         "a worker that is not there yet: like which one, and how many times as fast; may be repeated")
      ->type_name("NAME=LIKE[*SPEED]")
      ->allow_extra_args(false);
  app.add_option("--seconds", it.seconds, "that one trial takes (default: all trials take about a minute)")
      ->check(CLI::Range(0.1, 3600.0));
  add_exchange(app, it.exchange);
  app.add_option("--measured", it.measured, "what an earlier plan measured, in the place of trials");
  app.add_option("--output,-o", it.output,
                 "write what was measured to this file, too; - for standard output");
  app.add_option("--run-dir", it.run_directory, "where trials and hosts.toml go (default: runs/plan-NAME-N)");
  app.add_flag_callback(
      "--no-check", [&it] { it.check = false; }, "no trial of the best way at the end");
  app.footer(
      "Examples:\n  steelyard plan hosts.toml job.toml\n"
      "  steelyard plan hosts.toml job.toml --measured runs/plan-job-1/measured.json --add "
      "big=desk-a*4");
}

void add_attend(CLI::App& parent, AttendOptions& it) {
  CLI::App& app = *parent.add_subcommand("attend", "what launch runs on each host; not for people");
  app.group("");  // does its work without being advertised
  app.add_option("--directory", it.directory);
  app.add_option("--silence", it.silence)->check(CLI::Range(0.01, 1e6));
}

void add_profile(CLI::App& parent, ProfileCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "profile", "measure time against batch size on this machine, one worker alone and all together");
  app.add_option("job", it.job_file, "take model and data from this job file (default: lenet5)");
  add_settings(app, it.overrides);
  add_keys(app, computing_keys(it.computing));
  app.add_option("--model", it.model, "another model than the job's");
  app.add_option("--data", it.data, "another data set than the job's, as in synthetic");
  app.add_option("--workers", it.workers,
                 "so many at once (default: a thread for every processor; on a GPU 1)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--max-batch", it.max_batch, "the largest batch")
      ->default_str("512")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--repeats", it.repeats, "measurements of each size; their median counts")
      ->default_str("9")
      ->check(CLI::Range(1, 1000));
  app.add_option("--name", it.name, "what to call this machine (default: its host name)");
  app.add_option("--output,-o", it.output, "write a JSON file that scenarios can use");
  app.add_flag("--quiet,-q", it.quiet, "no progress, only the table");
  app.footer("Example: steelyard profile --model mlp --workers 2 --output here.json");
}

void add_devices(CLI::App& parent, DevicesCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "devices", "what workers can compute on here, and how fast each is: two measurements of half a second");
  app.add_option("--json", it.json, "write all numbers to this file; - for standard output");
  app.footer("Example: steelyard devices --json devices.json");
}

void add_simulate(CLI::App& parent, SimulateCommand& it) {
  CLI::App& app = *parent.add_subcommand("simulate", "run a scenario: the same machines in virtual time");
  app.add_option("scenario", it.scenario_file, "the scenario (TOML); `steelyard help scenario` describes it")
      ->required();
  app.add_option("--policy", it.policy,
                 "who divides the batch: " + joined(sim::simulated_policies(registry().policies)) +
                     " (default: as the scenario says)");
  app.add_option("--sync", it.sync,
                 "when a round is over: " + sync_choices() + " (default: as the scenario says)");
  app.add_option("--seed", it.seed, "of all that is random (default: as the scenario says)")->check(natural);
  add_settings(app, it.overrides,
               "replace a key of the scenario, as in network.step_ms=20 or worker.gtx1070-a.noise=0.1");
  app.add_option("--json", it.json, "write every round to this file; - for standard output");
  app.footer(
      "Examples:\n  steelyard simulate examples/scenarios/lbb_table2.toml --policy lbb\n"
      "  steelyard simulate examples/scenarios/lbb_table2.toml --set network.step_ms=500");
}

void add_compare(CLI::App& parent, CompareCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "compare", "run jobs, scripts or scenarios under many policies and sync modes, and show a table");
  app.add_option(
         "file", it.files,
         "jobs (TOML) and scripts, which train as real processes, and scenarios (TOML); what a script "
         "is to know besides, it finds in its environment")
      ->required();
  app.add_option("--workers,-n", it.workers, "so many processes of a script")
      ->default_str("2")
      ->check(CLI::Range(1, 1024));
  app.add_option("--policies", it.policies,
                 "comma-separated, of " + joined(sim::simulated_policies(registry().policies)) +
                     " (oracle: scenarios only); equal/ssp:2 is a policy with a sync mode of its own "
                     "(default: all)");
  app.add_option("--sync", it.sync,
                 "sync modes, comma-separated, each with each policy: " + sync_choices() +
                     " (default: as the file says)");
  app.add_option("--repeats", it.repeats, "runs of each, A B C A B C; the table has medians")
      ->check(CLI::Range(1, 1000));
  app.add_option("--target", it.target,
                 "measure the time to this accuracy, as in 0.85 (default: the job's target_accuracy)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", it.seed, "of the first repeat; the next has the next (default: as the file says)")
      ->check(natural);
  add_settings(app, it.overrides,
               "replace a key of the files, as in train.epochs=3 of jobs or network.step_ms=20 of scenarios");
  app.add_option("--sweep", it.sweep, "all of it once for each of these values of a key")
      ->type_name("KEY=VALUE,...");
  app.add_option("--run-dir", it.run_directory,
                 "where a job's runs, compare.json and compare.html go (default: runs/compare-NAME-N)");
  app.add_option("--json", it.json, "write all numbers to this file; - for standard output");
  app.add_option("--html", it.html, "write the page with the pictures to this file");
  app.footer(
      "Equal shares under bsp always take part, and so does the best single device alone (but for scripts). "
      "Ctrl-C shows what is done so far.\n"
      "Examples:\n"
      "  steelyard compare examples/jobs/unequal.toml --policies equal,lb-bsp,steelyard --repeats 3\n"
      "  steelyard compare examples/scenarios/step.toml --sweep network.step_ms=5,50,500\n"
      "  steelyard compare train.py -n 3 --set worker.worker-2.simulate_slowdown=4 --policies "
      "equal,steelyard\n"
      "  steelyard compare examples/scenarios/*.toml --policies equal,lbb,steelyard");
}

void add_replay(CLI::App& parent, ReplayCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "replay", "what a recorded run would have been under another policy, or without a worker");
  app.add_option("run", it.run, "its directory")->required();
  app.add_option("--policies", it.policies,
                 "comma-separated, of " + joined(sim::simulated_policies(registry().policies)) +
                     " (default: the run's own)");
  app.add_option("--sync", it.sync,
                 "sync modes, comma-separated: " + sync_choices() + " (default: the run's own)");
  app.add_option("--without", it.without, "leave this worker out; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--output,-o", it.output, "write the scenario to this file, too; - for that alone");
  app.footer(
      "Examples:\n  steelyard replay runs/demo-1 --policies equal,lb-bsp,steelyard\n"
      "  steelyard replay runs/demo-1 --without slow");
}

void add_inspect(CLI::App& parent, InspectCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "inspect", "what is in a run, a checkpoint or a safetensors file, and whether it is whole");
  app.add_option("path", it.path,
                 "a run directory (its newest checkpoint), a checkpoint, or a safetensors file")
      ->required();
  app.footer("Example:\n  steelyard inspect runs/job-1");
}

void add_saved(CLI::App& app, SavedOptions& it) {
  app.add_option("checkpoint", it.path, "a checkpoint, or a run directory (its newest)")->required();
  app.add_option("--job", it.job_file, "the job that wrote it (default: job.toml of the run it lies in)");
  add_settings(app, it.overrides, "replace a key of the job file, as in data.dir=/data");
}

void add_eval(CLI::App& parent, EvalCommand& it) {
  CLI::App& app = *parent.add_subcommand("eval", "loss and accuracy of a checkpoint over the test set");
  add_saved(app, it.saved);
  app.add_option("--data", it.saved.data, "another data set than the job's, as in synthetic");
  app.footer("Example: steelyard eval runs/job-1");
}

void add_predict(CLI::App& parent, PredictCommand& it) {
  CLI::App& app =
      *parent.add_subcommand("predict", "the class of each sample and its probability, from a checkpoint");
  add_saved(app, it.saved);
  app.add_option("--input", it.input,
                 "samples as an npy file, or an array of an npz (pictures.npz:x_test), "
                 "[sample][row][column][channel] or [sample][feature]: floats as the model takes them, or "
                 "bytes, which are normalised as in training (default: the job's test set)");
  app.add_option("--out", it.output, "write to this file; - for standard output");
  app.footer(
      "Writes a line for each sample: its number, class, and probability by softmax over the scores.\n"
      "Examples:\n  steelyard predict runs/job-1 --out classes.csv\n"
      "  steelyard predict runs/job-1/checkpoints/1180 --input pictures.npy");
}

void add_keys(CLI::App& parent, KeysCommand& it) {
  CLI::App& app = *parent.add_subcommand("keys", "who may take part in jobs beyond this machine");
  app.add_option(
         "action", it.action,
         "new: make a key and let it in; add: let in one that was made elsewhere; revoke: let it in no "
         "more; list")
      ->required()
      ->check(CLI::IsMember({"new", "add", "revoke", "list"}));
  app.add_option("directory", it.directory, "where the keys are, and the list of who is let in")->required();
  app.add_option("role", it.role, "scheduler, server or worker; of revoke: the name");
  app.add_option("name", it.name, "of the key (default: its role; several processes may have one key)");
  app.add_option("public", it.key, "of add: the public key, in quotes");
  app.footer(
      "A running job looks at the list all the time. Secret keys never leave the machine that made them.\n"
      "Examples:\n  steelyard keys new ~/keys worker ada\n"
      "  steelyard keys add ~/keys scheduler scheduler 'PUBLIC'\n"
      "  steelyard keys revoke ~/keys ada\n"
      "  steelyard worker --scheduler 10.0.0.1:7070 --name ada --keys ~/keys");
}

}  // namespace

void add_commands(CLI::App& app, Commands& it) {
  add_train(app, it.train);
  add_run(app, it.run);
  add_scheduler(app, it.scheduler);
  add_standby(app, it.standby);
  add_server(app, it.server);
  add_worker(app, it.worker);
  add_simulate(app, it.simulate);
  add_compare(app, it.compare);
  add_replay(app, it.replay);
  add_launch(app, it.launch);
  add_plan(app, it.plan);
  add_attend(app, it.attend);
  add_profile(app, it.profile);
  add_devices(app, it.devices);
  add_commands_of_runs(app, it);
  add_inspect(app, it.inspect);
  add_eval(app, it.eval);
  add_predict(app, it.predict);
  add_keys(app, it.keys);
}

std::optional<Command> chosen(const CLI::App& app, const Commands& it) {
  if (app.got_subcommand("train")) return it.train;
  if (app.got_subcommand("run")) return it.run;
  if (app.got_subcommand("scheduler")) return it.scheduler;
  if (app.got_subcommand("standby")) return it.standby;
  if (app.got_subcommand("server")) return it.server;
  if (app.got_subcommand("worker")) return it.worker;
  if (app.got_subcommand("simulate")) return it.simulate;
  if (app.got_subcommand("compare")) return it.compare;
  if (app.got_subcommand("replay")) return it.replay;
  if (app.got_subcommand("launch")) return it.launch;
  if (app.got_subcommand("plan")) return it.plan;
  if (app.got_subcommand("attend")) return it.attend;
  if (app.got_subcommand("profile")) return it.profile;
  if (app.got_subcommand("devices")) return it.devices;
  if (app.got_subcommand("trace")) return it.trace;
  if (app.got_subcommand("journal")) return it.journal;
  if (app.got_subcommand("report")) return it.report;
  if (app.got_subcommand("status")) return it.status;
  if (app.got_subcommand("runs")) return it.runs;
  if (app.got_subcommand("inspect")) return it.inspect;
  if (app.got_subcommand("eval")) return it.eval;
  if (app.got_subcommand("predict")) return it.predict;
  if (app.got_subcommand("keys")) return it.keys;
  return std::nullopt;
}

}  // namespace steelyard
