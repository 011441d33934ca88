#include <CLI/CLI.hpp>

#include <cstdint>
#include <iostream>
#include <limits>

#include "app/cli/commands.h"
#include "app/config/registry.h"
#include "app/launch/process_options.h"
#include "app/processes/journal_file.h"
#include "app/processes/process_keys.h"
#include "app/tools/compare_command.h"
#include "app/tools/devices_command.h"
#include "app/tools/inspect_command.h"
#include "app/tools/keys_command.h"
#include "app/tools/plan_command.h"
#include "app/tools/predict_command.h"
#include "app/tools/profile_command.h"
#include "app/tools/simulate_command.h"
#include "app/tools/status_command.h"
#include "protocol/sync_mode.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

// CLI11 reads -1 as a very large number, and one that is too large as the largest.
const CLI::Validator natural =
    CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()).description("");

std::string policy_choices() { return joined(sim::simulated_policies(registry().policies)); }

void add_without(CLI::App& app, std::vector<std::string>& workers) {
  add_list(app, "--without", workers, "NAME", "leave this worker out");
}

struct JournalCommand {
  std::string run;                                                  // directory
  std::uint64_t until = std::numeric_limits<std::uint64_t>::max();  // number of the last record
};

void show_journal(const JournalCommand& it) {
  print_journal(RunDirectory::open(it.run), it.until, std::cout);
}

void add_simulate(Commands& all) {
  auto [app, it] = all.add("simulate", "run a scenario: the same machines in virtual time", run_simulate);
  app.add_option("scenario", it.scenario_file, "the scenario (TOML); `steelyard help scenario` describes it")
      ->required();
  app.add_option("--policy", it.policy,
                 "who divides the batch: " + policy_choices() + " (default: as the scenario says)");
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

void add_compare(Commands& all) {
  auto [app, it] = all.add(
      "compare", "run jobs, scripts or scenarios under many policies and sync modes, and show a table",
      run_compare);
  app.add_option(
         "file", it.files,
         "jobs (TOML) and scripts, which train as real processes, and scenarios (TOML); what a script "
         "is to know besides, it finds in its environment")
      ->required();
  app.add_option("--workers,-n", it.workers, "so many processes of a script")
      ->default_str("2")
      ->check(CLI::Range(1, 1024));
  app.add_option("--policies", it.policies,
                 "comma-separated, of " + policy_choices() +
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

void add_replay(Commands& all) {
  auto [app, it] = all.add(
      "replay", "what a recorded run would have been under another policy, or without a worker", run_replay);
  app.add_option("run", it.run, "its directory")->required();
  app.add_option("--policies", it.policies,
                 "comma-separated, of " + policy_choices() + " (default: the run's own)");
  app.add_option("--sync", it.sync,
                 "sync modes, comma-separated: " + sync_choices() + " (default: the run's own)");
  add_without(app, it.without);
  app.add_option("--output,-o", it.output, "write the scenario to this file, too; - for that alone");
  app.footer(
      "Examples:\n  steelyard replay runs/demo-1 --policies equal,lb-bsp,steelyard\n"
      "  steelyard replay runs/demo-1 --without slow");
}

void add_profile(Commands& all) {
  auto [app, it] =
      all.add("profile", "measure time against batch size on this machine, one worker alone and all together",
              run_profile);
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

void add_devices(Commands& all) {
  auto [app, it] = all.add(
      "devices", "what workers can compute on here, and how fast each is: two measurements of half a second",
      run_devices);
  app.add_option("--json", it.json, "write all numbers to this file; - for standard output");
  app.footer("Example: steelyard devices --json devices.json");
}

void add_trace(Commands& all) {
  auto [app, it] = all.add(
      "trace", "what all processes of a job did when, as one timeline for ui.perfetto.dev", run_trace);
  app.add_option("path", it.paths, "run directories, or directories and files that --trace of a process made")
      ->required();
  app.add_option("--output,-o", it.output, "write to this file; - for standard output")
      ->capture_default_str();
  app.footer(
      "`steelyard train --trace` makes the timeline by itself. Processes that were started by hand, on "
      "several\n"
      "machines perhaps, leave a file each in the directory of their --trace: bring these together.\n"
      "Example:\n  steelyard trace scheduler-trace worker-a-trace worker-b-trace");
}

void add_journal(Commands& all) {
  auto [app, it] = all.add(
      "journal", "what the scheduler of a run heard and what it answered, message by message", show_journal);
  app.add_option("run", it.run, "run directory")->required();
  app.add_option("--until", it.until, "number of the last message to show")->type_name("N");
  app.footer(
      "The scheduler is made once more, and hears again what it heard: the same text every time. Fields are\n"
      "in the order of protocol/fields.h.\nExample:\n  steelyard journal runs/quick-1 --until 500");
}

void add_report(Commands& all) {
  auto [app, it] = all.add(
      "report", "a page of runs: which worker held the others up, when, and what a better split would bring",
      run_report);
  app.add_option("run", it.runs, "the directory of a run, such as runs/job-1; several make one page")
      ->required();
  app.add_option(
      "--output,-o", it.output,
      "write the page to this file; - for standard output (default: report.html in the first run)");
  app.footer(
      "The page needs no network and nothing beside itself. The run may still be under way.\n"
      "Examples:\n  steelyard report runs/job-1\n"
      "  steelyard report runs/equal runs/balanced --output both.html");
}

void add_status(Commands& all) {
  auto [app, it] = all.add(
      "status", "where a run stands: how far, who works how fast, and who holds the others up", run_status);
  app.add_option(
      "run", it.run,
      "the directory of a run (default: of runs/, the one that wrote last), or HOST:PORT of one that "
      "trains with --web");
  app.footer("Examples:\n  steelyard status runs/job-1\n  steelyard status 127.0.0.1:7080");
}

void add_runs(Commands& all) {
  auto [app, it] =
      all.add("runs", "the runs in a folder, and how to go on with those that stopped", run_runs);
  app.add_option("folder", it.folder, "where the runs are")->capture_default_str();
  app.footer("Example: steelyard runs");
}

void add_inspect(Commands& all) {
  auto [app, it] =
      all.add("inspect", "what is in a run, a checkpoint or a safetensors file, and whether it is whole",
              run_inspect);
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

void add_eval(Commands& all) {
  auto [app, it] = all.add("eval", "loss and accuracy of a checkpoint over the test set", run_eval);
  add_saved(app, it.saved);
  app.add_option("--data", it.saved.data, "another data set than the job's, as in synthetic");
  app.footer("Example: steelyard eval runs/job-1");
}

void add_predict(Commands& all) {
  auto [app, it] =
      all.add("predict", "the class of each sample and its probability, from a checkpoint", run_predict);
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

void add_key_files(Commands& all) {
  auto [app, it] = all.add("keys", "who may take part in jobs beyond this machine", run_keys);
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

void add_plan(Commands& all) {
  auto [app, it] = all.add(
      "plan", "which machines and which sync mode are fastest: is it worth adding this one?", run_plan);
  app.add_option("hosts", it.hosts_file, "the machines (TOML), as for launch; the scheduler's is this one")
      ->required();
  add_job(app, it.job_file, it.overrides);
  add_without(app, it.without);
  add_list(app, "--add", it.added, "NAME=LIKE[*SPEED]",
           "a worker that is not there yet: like which one, and how many times as fast");
  app.add_option("--seconds", it.seconds, "that one trial takes (default: all trials take about a minute)")
      ->check(CLI::Range(0.1, 3600.0));
  add_exchange(app, it.exchange);
  app.add_option("--measured", it.measured, "what an earlier plan measured, in the place of trials");
  app.add_option("--output,-o", it.output,
                 "write what was measured to this file, too; - for standard output");
  app.add_option("--run-dir", it.run_directory, "where trials and hosts.toml go (default: runs/plan-NAME-N)");
  app.add_flag_callback(
      "--no-check", [&check = it.check] { check = false; }, "no trial of the best way at the end");
  app.footer(
      "Examples:\n  steelyard plan hosts.toml job.toml\n"
      "  steelyard plan hosts.toml job.toml --measured runs/plan-job-1/measured.json --add big=desk-a*4");
}

void add_simulations(Commands& all) {
  for (auto* const add : {add_simulate, add_compare, add_replay}) add(all);
}

void add_tools(Commands& all) {
  for (auto* const add : {add_profile, add_devices, add_trace, add_journal, add_report, add_status, add_runs,
                          add_inspect, add_eval, add_predict, add_key_files})
    add(all);
}

}  // namespace steelyard
