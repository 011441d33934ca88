#include <CLI/CLI.hpp>

#include <cstdint>
#include <iostream>
#include <limits>

#include "app/cli/commands.h"
#include "app/config/registry.h"
#include "app/launch/process_options.h"
#include "app/processes/journal_file.h"
#include "app/processes/process_keys.h"
#include "app/render/render_command.h"
#include "app/tools/compare_command.h"
#include "app/tools/demo_command.h"
#include "app/tools/devices_command.h"
#include "app/tools/eval_command.h"
#include "app/tools/export_command.h"
#include "app/tools/inspect_command.h"
#include "app/tools/keys_command.h"
#include "app/tools/plan_command.h"
#include "app/tools/predict_command.h"
#include "app/tools/profile_command.h"
#include "app/tools/runs_command.h"
#include "app/tools/simulate_command.h"
#include "app/tools/status_command.h"
#include "protocol/sync_mode.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

// CLI11 parses -1 as a very large number, and clamps numbers that are too large.
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
  auto [app, it] = all.add("simulate", "run a scenario: simulated machines in virtual time", run_simulate);
  app.add_option("scenario", it.scenario_file, "the scenario (TOML); `steelyard help scenario` describes it")
      ->required();
  app.add_option("--policy", it.policy,
                 "policy that divides the batch: " + policy_choices() + " (default: the scenario's)");
  app.add_option("--sync", it.sync,
                 "sync mode, that is when a round ends: " + sync_choices() + " (default: the scenario's)");
  app.add_option("--seed", it.seed, "seed of all random numbers (default: the scenario's)")->check(natural);
  add_settings(app, it.overrides,
               "replace a key of the scenario, as in network.step_ms=20 or worker.gtx1070-a.noise=0.1");
  app.add_option("--json", it.json, "write every round as JSON to this file; - for standard output");
  app.footer(
      "Examples:\n  steelyard simulate examples/scenarios/lbb_table2.toml --policy lbb\n"
      "  steelyard simulate examples/scenarios/lbb_table2.toml --set network.step_ms=500");
}

constexpr const char* compare_web_help =
    "show the page of the current run here while it trains: :PORT for this machine alone, or HOST:PORT";

void add_demo(Commands& all) {
  auto [app, it] = all.add(
      "demo", "train three unequal workers with equal and with balanced shares, in less than a minute",
      run_demo);
  add_settings(app, it.overrides);
  app.add_option("--run-dir", it.run_directory, "directory for the runs and the page (default: runs/demo-N)");
  app.add_option("--web", it.web, compare_web_help)->type_name("[HOST:]PORT");
  app.add_flag("--open", it.open, "open the page with the results in a browser");
  app.footer(
      "The data come with the program: 1,797 pictures of handwritten digits.\n"
      "Examples:\n"
      "  steelyard demo\n"
      "  steelyard demo --web :7080 --open");
}

void add_compare(Commands& all) {
  auto [app, it] = all.add(
      "compare", "run jobs, scripts or scenarios under several policies and sync modes, and print a table",
      run_compare);
  app.add_option(
         "file", it.files,
         "jobs (TOML) and scripts, which train as real processes, and scenarios (TOML); a script gets the "
         "environment but no arguments")
      ->required();
  app.add_option("--workers,-n", it.workers, "number of processes of a script")
      ->default_str("2")
      ->check(CLI::Range(1, 1024));
  app.add_option("--policies", it.policies,
                 "comma-separated, of " + policy_choices() +
                     " (oracle: scenarios only); equal/ssp:2 is a policy with a sync mode of its own "
                     "(default: all)");
  app.add_option(
      "--sync", it.sync,
      "comma-separated sync modes, each run with each policy: " + sync_choices() + " (default: the file's)");
  app.add_option("--repeats", it.repeats, "runs of each, interleaved (A B C A B C); the table shows medians")
      ->check(CLI::Range(1, 1000));
  app.add_option("--target", it.target,
                 "measure the time to this accuracy, as in 0.85 (default: the job's target_accuracy)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", it.seed, "seed of the first repeat; repeat k adds k (default: the file's)")
      ->check(natural);
  add_settings(app, it.overrides,
               "replace a key of the files, as in train.epochs=3 of jobs or network.step_ms=20 of scenarios");
  app.add_option("--sweep", it.sweep, "repeat the whole comparison for each of these values of a key")
      ->type_name("KEY=VALUE,...");
  app.add_option("--run-dir", it.run_directory,
                 "directory for a job's runs, compare.json and compare.html (default: runs/compare-NAME-N)");
  app.add_option("--web", it.web, compare_web_help)->type_name("[HOST:]PORT");
  app.add_option("--json", it.json, "write all results as JSON to this file; - for standard output");
  app.add_option("--html", it.html, "write the page with charts to this file; - for standard output");
  app.footer(
      "Equal shares under bsp are always included, and so is the fastest device alone (not for scripts). "
      "Ctrl-C stops the comparison and prints the results so far.\n"
      "Examples:\n"
      "  steelyard compare examples/jobs/unequal.toml --policies equal,lb-bsp,steelyard --repeats 3\n"
      "  steelyard compare examples/scenarios/step.toml --sweep network.step_ms=5,50,500\n"
      "  steelyard compare train.py -n 3 --set worker.worker-2.simulate_slowdown=4 --policies "
      "equal,steelyard\n"
      "  steelyard compare examples/scenarios/*.toml --policies equal,lbb,steelyard");
}

void add_replay(Commands& all) {
  auto [app, it] =
      all.add("replay", "simulate a recorded run under another policy, or without a worker", run_replay);
  app.add_option("run", it.run, "directory of the run")->required();
  app.add_option("--policies", it.policies,
                 "comma-separated, of " + policy_choices() + " (default: the run's own)");
  app.add_option("--sync", it.sync,
                 "comma-separated sync modes: " + sync_choices() + " (default: the run's own)");
  add_without(app, it.without);
  app.add_option("--output,-o", it.output,
                 "also write the scenario to this file; - prints only the scenario");
  app.footer(
      "Examples:\n  steelyard replay runs/demo-1 --policies equal,lb-bsp,steelyard\n"
      "  steelyard replay runs/demo-1 --without slow");
}

void add_profile(Commands& all) {
  auto [app, it] =
      all.add("profile", "measure compute time by batch size on this machine, for one worker and for several",
              run_profile);
  app.add_option("job", it.job_file, "job file to take model and data from (default: lenet5)");
  add_settings(app, it.overrides);
  add_keys(app, computing_keys(it.computing));
  app.add_option("--model", it.model, "use this model instead of the job's");
  app.add_option("--data", it.data, "use this data set instead of the job's, as in synthetic");
  app.add_option("--workers", it.workers,
                 "workers that compute at once (default: processors / --threads; 1 on a GPU)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--max-batch", it.max_batch, "largest batch to measure")
      ->default_str("512")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--repeats", it.repeats, "measurements per batch size; the median is reported")
      ->default_str("9")
      ->check(CLI::Range(1, 1000));
  app.add_option("--name", it.name, "name of this machine in the profile (default: its host name)");
  app.add_option("--output,-o", it.output, "write the profile as JSON to this file, for scenarios");
  app.add_flag("--quiet,-q", it.quiet, "print no progress, only the table");
  app.footer("Example: steelyard profile --model mlp --workers 2 --output here.json");
}

void add_devices(Commands& all) {
  auto [app, it] =
      all.add("devices", "list the devices that workers can use here, and measure each for about a second",
              run_devices);
  app.add_option("--json", it.json, "write all results as JSON to this file; - for standard output");
  app.footer("Example: steelyard devices --json devices.json");
}

void add_trace(Commands& all) {
  auto [app, it] = all.add(
      "trace", "merge the traces of a job's processes into one timeline for ui.perfetto.dev", run_trace);
  app.add_option("path", it.paths, "run directories, or directories and files written by a process's --trace")
      ->required();
  app.add_option("--output,-o", it.output, "write to this file; - for standard output")
      ->capture_default_str();
  app.footer(
      "`steelyard train --trace` writes the timeline automatically. Processes that you start yourself, "
      "possibly\n"
      "on several machines, each write a file into the directory of their --trace: give all of these.\n"
      "Example:\n  steelyard trace scheduler-trace worker-a-trace worker-b-trace");
}

void add_journal(Commands& all) {
  auto [app, it] =
      all.add("journal", "print the messages that a run's scheduler received, and its answers", show_journal);
  app.add_option("run", it.run, "directory of the run")->required();
  app.add_option("--until", it.until, "number of the last message to print")->type_name("N");
  app.footer(
      "Replays the journal to a new scheduler, so the output is the same every time. Fields are in the "
      "order\n"
      "of protocol/fields.h.\nExample:\n  steelyard journal runs/quick-1 --until 500");
}

void add_report(Commands& all) {
  auto [app, it] = all.add(
      "report",
      "write a page on runs: which worker slowed the others down, when, and what a better split gains",
      run_report);
  app.add_option("run", it.runs, "directory of a run, as in runs/job-1; several runs share one page")
      ->required();
  app.add_option(
      "--output,-o", it.output,
      "write the page to this file; - for standard output (default: report.html in the first run)");
  app.footer(
      "The page is one file and needs no network. The run may still be in progress.\n"
      "Examples:\n  steelyard report runs/job-1\n"
      "  steelyard report runs/equal runs/balanced --output both.html");
}

void add_status(Commands& all) {
  auto [app, it] = all.add(
      "status", "print a run's progress, the speed of its workers, and which one slows the others down",
      run_status);
  app.add_option("run", it.run,
                 "directory of a run (default: the run in runs/ written to last), or HOST:PORT of a job that "
                 "runs with --web");
  app.footer("Examples:\n  steelyard status runs/job-1\n  steelyard status 127.0.0.1:7080");
}

void add_top(Commands& all) {
  auto [app, it] = all.add("top", "show the status of a run again and again, until it ends", run_top);
  app.add_option("run", it.run, "as for `steelyard status`");
  app.add_option("--every", it.every, "seconds between two looks")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  app.footer("Examples:\n  steelyard top runs/job-1\n  steelyard top 127.0.0.1:7080 --every 5");
}

void add_runs(Commands& all) {
  auto [app, it] =
      all.add("runs", "list the runs in a folder, and how to resume those that stopped", run_runs);
  app.add_option("folder", it.folder, "folder that contains the runs")->capture_default_str();
  app.add_option("--json", it.json, "write the list as JSON to this file; - for standard output");
  app.footer("Example: steelyard runs");
}

void add_inspect(Commands& all) {
  auto [app, it] = all.add(
      "inspect", "show and verify the contents of a run, a checkpoint or a safetensors file", run_inspect);
  app.add_option("path", it.path,
                 "a run directory (its newest checkpoint), a checkpoint, or a safetensors file")
      ->required();
  app.footer("Example:\n  steelyard inspect runs/job-1");
}

void add_saved(CLI::App& app, SavedOptions& it) {
  app.add_option("checkpoint", it.path, "a checkpoint, or a run directory (its newest)")->required();
  app.add_option("--job", it.job_file, "job file that it was trained with (default: job.toml of its run)");
  add_settings(app, it.overrides, "replace a key of the job file, as in data.dir=/data");
}

void add_eval(Commands& all) {
  auto [app, it] = all.add("eval", "compute loss and accuracy of a checkpoint on the test set", run_eval);
  add_saved(app, it.saved);
  app.add_option("--data", it.saved.data, "use this data set instead of the job's, as in synthetic");
  app.add_option(
      "--input", it.inputs,
      "a CSV file with labels, or folders with a subfolder of pictures for each class, instead of the job's "
      "test set; values are raw, as in its training data");
  app.add_flag("--normalized", it.normalized, "the values of --input are normalised already");
  app.footer(
      "Prints loss, accuracy, macro F1, AUC and top-5 accuracy, and precision, recall and F1 of up to 20 "
      "classes. For a model that predicts numbers: RMSE, MAE and R2; for answers of 0 and 1: exact match, "
      "macro F1, and precision, recall, F1 and AUC of each.\nExamples:\n  steelyard eval runs/job-1\n  "
      "steelyard eval runs/job-1 --input new.csv");
}

void add_predict(Commands& all) {
  auto [app, it] =
      all.add("predict", "predict class and probability of each sample, from a checkpoint", run_predict);
  add_saved(app, it.saved);
  app.add_option(
      "--input", it.inputs,
      "samples: PNG and JPEG pictures, and folders of them; or a CSV file, with or without labels; or an "
      "array of NumPy in an npy or npz file (pictures.npz:x_test), [sample][row][column][channel] or "
      "[sample][feature]; values are raw, "
      "as in the training data, and are normalised as in training; raw pixels are integers to 255 "
      "or floats to 1 (default: the job's test set)");
  app.add_flag("--normalized", it.normalized, "the values of --input are normalised already");
  app.add_option("--out", it.output, "write to this file; - for standard output");
  app.footer(
      "Writes one line per sample: number or file, class, probability (softmax of the scores), and label if "
      "it is "
      "known. For a model that predicts numbers: a column for each of them, by name, in the units of the "
      "data (under binary cross-entropy the probability of 1), then its label as NAME_label.\n"
      "Examples:\n  steelyard predict runs/job-1 --out classes.csv\n"
      "  steelyard predict runs/job-1 --input new.csv\n"
      "  steelyard predict runs/pets --input tom.jpg rex.png\n"
      "  steelyard predict runs/job-1/checkpoints/1180 --input pictures.npy");
}

void add_export(Commands& all) {
  auto [app, it] = all.add("export", "write the model of a checkpoint for ONNX or PyTorch", run_export);
  add_saved(app, it.saved);
  app.add_option(
         "--to", it.files,
         "FILE.onnx: an ONNX model, whose first nodes normalise its inputs as in training; FILE.pt: a "
         "state_dict of PyTorch; FILE.py: the model as Python code, for that state_dict")
      ->required()
      ->type_name("FILE");
  app.footer(
      "docs/models.md states inputs and outputs of the files.\n"
      "Examples:\n  steelyard export runs/job-1 --to model.onnx\n"
      "  steelyard export runs/job-1/checkpoints/1180 --to model.pt --to model.py");
}

void add_key_files(Commands& all) {
  auto [app, it] =
      all.add("keys", "manage the keys of processes that may join jobs from other machines", run_keys);
  app.add_option(
         "action", it.action,
         "new: make a key and allow it; add: allow a key made elsewhere; revoke: stop allowing a key; list: "
         "print the allowed keys")
      ->required()
      ->check(CLI::IsMember({"new", "add", "revoke", "list"}));
  app.add_option("directory", it.directory, "directory of the keys and of the list of allowed keys")
      ->required();
  app.add_option("role", it.role, "scheduler, server or worker; for revoke: the name of the key");
  app.add_option("name", it.name, "name of the key; several processes may share one key (default: its role)");
  app.add_option("public", it.key, "for add: the public key, in quotes");
  app.footer(
      "Running jobs apply changes to the list. Secret keys never leave the machine that made them.\n"
      "Examples:\n  steelyard keys new ~/keys worker ada\n"
      "  steelyard keys add ~/keys scheduler scheduler 'PUBLIC'\n"
      "  steelyard keys revoke ~/keys ada\n"
      "  steelyard worker --scheduler 10.0.0.1:7070 --name ada --keys ~/keys");
}

}  // namespace

void add_plan(Commands& all) {
  auto [app, it] =
      all.add("plan", "find the fastest machines and sync mode, and what adding a worker gains", run_plan);
  app.add_option("hosts", it.hosts_file,
                 "the machines (TOML), as for launch; the scheduler must be on this one")
      ->required();
  add_job(app, it.job_file, it.overrides);
  add_without(app, it.without);
  add_list(app, "--add", it.added, "NAME=LIKE[*SPEED]",
           "also consider a worker that does not exist yet: like LIKE, and SPEED times as fast (default: 1)");
  app.add_option("--seconds", it.seconds, "length of one trial (default: all trials take about a minute)")
      ->check(CLI::Range(0.1, 3600.0));
  add_exchange(app, it.exchange);
  app.add_option("--measured", it.measured, "measurements of an earlier plan, instead of trials");
  app.add_option("--output,-o", it.output, "also write the measurements to this file; - for standard output");
  app.add_option("--run-dir", it.run_directory,
                 "directory for trials and hosts.toml (default: runs/plan-NAME-N)");
  app.add_flag_callback(
      "--no-check", [&check = it.check] { check = false; }, "skip the trial of the best plan at the end");
  app.footer(
      "Examples:\n  steelyard plan hosts.toml job.toml\n"
      "  steelyard plan hosts.toml job.toml --measured runs/plan-job-1/measured.json --add big=desk-a*4");
}

void add_render(Commands& all) {
  auto [app, it] =
      all.add("render", "write what Slurm or Kubernetes needs to run a job or a script", run_render);
  all.scripts.push_back(&it.script);
  app.add_option(
         "form", it.form,
         "slurm: a batch script; jobset: a JobSet for Kubernetes; trainingruntime: a runtime and a job "
         "for Kubeflow Trainer")
      ->required()
      ->check(CLI::IsMember(render_forms));
  app.add_option("hosts", it.hosts_file,
                 "groups of machines (TOML); `steelyard help hosts` describes the file")
      ->required();
  app.add_option(
         "job", it.job_file,
         "the job file (TOML), or a script, with the path that it has there; arguments after a script "
         "are passed to it")
      ->required();
  add_settings(app, it.overrides);
  app.add_option("--name", it.name, "name of the job in the queue, and of objects (default: the job's)");
  app.add_option("--grace", it.grace_s, "seconds that the processes have to save and exit")
      ->default_str("60")
      ->check(CLI::Range(5, 3600));
  app.add_option("--storage", it.storage, "size of the claim for the run directory, on Kubernetes")
      ->default_str("10Gi");
  add_list(app, "--sbatch", it.sbatch, "OPTION", "a further option of sbatch, as in --sbatch=--account=lab");
  app.add_option("--output,-o", it.output, "write to this file; - for standard output")->default_str("-");
  app.footer(
      "Keys of `steelyard help hosts` say what each machine needs. No file contains a secret.\n"
      "Examples:\n"
      "  steelyard render slurm hosts.toml job.toml -o job.sh && sbatch job.sh\n"
      "  steelyard render jobset hosts.toml job.toml | kubectl apply -f -");
}

void add_simulations(Commands& all) {
  for (auto* const add : {add_demo, add_simulate, add_compare, add_replay}) add(all);
}

void add_tools(Commands& all) {
  for (auto* const add : {add_profile, add_devices, add_trace, add_journal, add_report, add_status, add_top,
                          add_runs, add_inspect, add_eval, add_predict, add_export, add_key_files})
    add(all);
}

}  // namespace steelyard
