#include "app/processes/run_setup.h"

#include <filesystem>
#include <functional>
#include <utility>

#include "app/config/prepare_job.h"
#include "app/processes/endpoint.h"
#include "app/processes/processes.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "core/error.h"

namespace steelyard {
namespace {

// The checkpoint from which the run continues; empty for a new training.
std::string checkpoint_for(const ResultOptions& options, const RunDirectory& run) {
  if (!options.resume_from.empty() || !options.resume) return options.resume_from;
  std::vector<std::string> warnings;
  std::string path = newest_checkpoint(run.checkpoints(), &warnings);
  for (const std::string& warning : warnings) standard_error().line("steelyard: " + shown_line(warning));
  return path;
}

// The model to train: built here, or sent by a worker.
struct Trained {
  ModelDescription description;
  std::function<std::vector<float>(std::uint64_t seed)> weights;  // called at most once
  // DataSets; a worker sends none.
  std::vector<std::string> class_names{}, column_names{};
  Normalization target_scale{{}, {}};
};

Trained built_here(const Job& job) {
  const Workload workload = workload_of(job);
  return {describe(workload), [workload](std::uint64_t seed) { return first_weights(workload, seed); },
          workload.data.class_names, workload.data.column_names, workload.data.target_scale};
}

Trained told_by_workers(const Job& job, Link& link, const std::string& endpoint, bool quiet) {
  const auto say = speaker("scheduler", job.name, quiet);
  say("waiting for a worker that sends the model, at " + endpoint);
  std::optional<WorkersModel> told = model_of_workers(link, job.seed, say);
  if (!told) throw Failure(ExitCode::temporary, "no worker has joined, so the job has no model");
  return {std::move(told->description),
          [weights = std::move(told->weights)](std::uint64_t) mutable { return std::move(weights); }};
}

// The job described by the first worker's program, if it describes one. Servers, workers and --set options of
// this scheduler still apply.
JobFile as_told(JobFile own, const ModelDescription& told) {
  if (!told.job.empty()) {
    const ClusterSpec cluster{own.job.shards, own.worker_specs};
    std::vector<std::string> overrides = own.overrides;
    std::erase_if(overrides, [](const std::string& it) { return it.starts_with("worker."); });
    overrides.push_back(std::string("model.name=") + external_model);
    own = parse_job(told.job, "the job of the first worker", overrides, &cluster);
  }
  own.job.data = told.data;
  own.job.data_options = {{data_mark, told.data_hash}};
  return own;
}

// The initial state of the shards. Data and weights are not needed afterwards.
Snapshot beginning(const std::string& checkpoint, const Job& job, const SampleSource& source,
                   Trained trained) {
  if (checkpoint.empty()) return fresh_beginning(job, source, trained.weights(job.seed));
  for (const std::string& note : check_resumable(checkpoint, read_manifest(checkpoint), job, source)) {
    standard_error().line("steelyard: " + shown_line(note));
  }
  Snapshot snapshot = resumed_beginning(checkpoint, job, source);
  standard_error().line("resuming from " + checkpoint + ": epoch " + std::to_string(snapshot.progress.epoch) +
                        ", round " + std::to_string(snapshot.progress.version));
  return snapshot;
}

// Cleans the directory of a scheduler that was killed before it wrote job.toml. No other process knew its
// job, so a new one starts in an empty directory.
void clear_unbegun(const std::string& directory) {
  if (!std::filesystem::exists(directory)) return;
  { const RunLock nobody_else(directory); }
  std::error_code ignored;  // a directory with other files is refused later
  for (const char* made : {"/checkpoints", "/log", "/lock"})
    std::filesystem::remove(directory + made, ignored);
}

}  // namespace

RunSetup begin_anew(const SchedulerOptions& options, JobFile file, std::optional<RunDirectory> run,
                    std::unique_ptr<RunLock>& lock, Link& link, const std::string& endpoint,
                    const std::string& key) {
  const ResultOptions& results = options.results;
  Trained trained;
  if (file.job.model == external_model) {
    trained = told_by_workers(file.job, link, endpoint, options.quiet);
    file = as_told(std::move(file), trained.description);
  } else {
    trained = built_here(file.job);
  }
  complete(file.job, trained.description);
  if (!run) {
    run = choose_run_directory(results, file.job.name);
    lock = std::make_unique<RunLock>(run->path(), results.lock);
  }
  RunSetup task{std::move(file), *run};
  const Job& job = task.file.job;
  task.place = {endpoint, task.file.resolved, checkpoint_for(results, *run),
                sample_source(job, trained.description)};
  task.place.source.class_names = trained.class_names;
  task.place.source.column_names = trained.column_names;
  task.place.source.target_mean = trained.target_scale.mean;
  task.place.source.target_deviation = trained.target_scale.deviation;
  task.place.key = key;
  memory_check("the scheduler", job, [&] {
    task.initial = beginning(task.place.checkpoint, job, task.place.source, std::move(trained));
  });
  for (const std::string& left : {run->journal(), RunDirectory::superseded_in(run->path())})
    std::filesystem::remove(left);  // of an earlier run
  write_text(run->job(), task.file.resolved);
  return task;
}

RunSetup go_on(const Killed& killed, const RunDirectory& run) {
  RunSetup task{read_job_file(run.job(), {}), run, without_values(killed), killed.place};
  task.file.job = killed.job;
  cut_record(run, killed.place);
  return task;
}

void restore_values(RunSetup& task) {
  const Job& job = task.file.job;
  if (job.model == external_model) {
    throw Failure(ExitCode::temporary,
                  "the scheduler was killed before the servers had received the model from a worker, and "
                  "can restart only with new workers: start the job again");
  }
  const Progress from = task.initial.progress;
  memory_check("the scheduler", job, [&] {
    task.initial = beginning(task.place.checkpoint, job, task.place.source, built_here(job));
  });
  task.initial.progress = from;
}

bool has_first_state(const Scheduler& scheduler, const Job& job) {
  const bool loaded = scheduler.members().all_shards_loaded(job.shards);
  return scheduler.phase() != Phase::gathering || (job.model == external_model && loaded);
}

Left left_behind(const SchedulerOptions& options) {
  Left left;
  const ResultOptions& results = options.results;
  if (!options.recover) return left;
  if (!std::filesystem::exists(results.directory + "/job.toml")) {
    clear_unbegun(results.directory);
    return left;
  }
  left.run = RunDirectory::open(results.directory);
  left.lock = std::make_unique<RunLock>(left.run->path(), results.lock);
  left.killed = left_by_killed(*left.run);
  return left;
}

}  // namespace steelyard
