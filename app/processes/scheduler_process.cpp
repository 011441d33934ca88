#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>

#include "app/config/job_source.h"
#include "app/config/prepare_job.h"
#include "app/processes/endpoint.h"
#include "app/processes/initial_state.h"
#include "app/processes/journal_thread.h"
#include "app/processes/processes.h"
#include "app/processes/recovered_run.h"
#include "app/processes/run_journal.h"
#include "app/processes/signals.h"
#include "app/processes/traced_link.h"
#include "app/report/output_file.h"
#include "app/report/recorder.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/web/run_web.h"
#include "core/error.h"
#include "scheduler/recovery/journaled.h"
#include "server/checkpoint/checkpointer.h"
#include "transport/host.h"
#include "transport/zmq.h"

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

ProgressStyle style(bool quiet) {
  ProgressStyle style =
      progress_style(!quiet && isatty(STDERR_FILENO) == 1, terminal_width(STDERR_FILENO), std::getenv("TERM"),
                     std::getenv("NO_COLOR"), std::getenv("CLICOLOR_FORCE"));
  style.file = STDERR_FILENO;
  return style;
}

void introduce(ProgressBar& bar, const JobFile& file, const RunDirectory& run, const std::string& endpoint,
               bool goes_on) {
  if (goes_on) return bar.note("continuing job '" + file.job.name + "' in " + run.path() + " at " + endpoint);
  bar.note("job '" + file.job.name + "': " + std::to_string(file.job.layout.size()) +
           " parameters, results in " + run.path());
  bar.note("waiting for " + std::to_string(file.job.shards) + (file.job.shards == 1 ? " shard" : " shards") +
           " and " + std::to_string(file.job.workers) + (file.job.workers == 1 ? " worker" : " workers") +
           " at " + endpoint);
  std::vector<std::string> notes = file.notices;
  notes.insert(notes.end(), {memory_note(file), replica_note(file.job)});
  for (const std::string& note : notes) {
    if (!note.empty()) bar.note(note);
  }
}

std::unique_ptr<TensorboardFile> board_for(const ResultOptions& results, const RunDirectory& run) {
  if (!results.tensorboard) return nullptr;
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::make_unique<TensorboardFile>(run.tensorboard(),
                                           std::chrono::duration<double>(since_1970).count());
}

// The job and run of this process, new or continued.
struct RunSetup {
  JobFile file;
  RunDirectory run;
  Snapshot initial{};
  SchedulersPlace place{};
};

std::unique_ptr<RunWeb> web_for(const ResultOptions& results) {
  return results.web.empty() ? nullptr : std::make_unique<RunWeb>(results.web);
}

// The earlier record of a continued run, for its page; empty if it cannot be read.
std::string recorded(const std::string& path) try {
  return std::filesystem::exists(path) ? read_input(path, {"record of the run", 64, ""}) : "";
} catch (const std::exception&) {
  return "";
}

// The address is printed even with --quiet, because the port may have been chosen automatically.
void show(RunWeb& web, const RunSetup& task, Recorder& recorder, ProgressBar& bar, bool quiet) {
  recorder.flush(steady_now());
  const RunDirectory& run = task.run;
  web.begin({run.path(), task.file.resolved, recorded(run.rounds()), recorded(run.events())});
  recorder.tell([&web](bool event, const std::string& line) { web.tell(event, line); });
  const std::string told =
      "the run can be watched at " + web.url() + (web.for_others() ? ", also from other machines" : "");
  bar.note(told);
  if (quiet) standard_error().line(told);
}

// Prepares a new job. `run`: the directory, if already chosen. `key`: public key of this process.
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
  std::filesystem::remove(run->journal());  // of an earlier run
  write_text(run->job(), task.file.resolved);
  return task;
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

// Prepares to continue the job of a killed scheduler.
RunSetup go_on(const Killed& killed, const RunDirectory& run) {
  RunSetup task{read_job_file(run.job(), {}), run, without_values(killed), killed.place};
  task.file.job = killed.job;
  cut_record(run, killed.place);
  return task;
}

// Computes the initial state again, for servers that have not loaded it.
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

// Whether the initial state is no longer needed. Until training begins, a lost server is replaced by another
// one, which needs it; the weights of an external model are not available again.
bool has_first_state(const Scheduler& scheduler, const Job& job) {
  const bool loaded = scheduler.members().all_shards_loaded(job.shards);
  return scheduler.phase() != Phase::gathering || (job.model == external_model && loaded);
}

// Checkpoints that an earlier process of this run has saved; the scheduler may not know of them.
void remember_saved(const RunDirectory& run, Term term, Checkpointer& checkpointer) {
  for (const std::string& path : list_checkpoints(run.checkpoints())) {
    const Progress its = read_manifest(path).progress;
    if (its.term == term) checkpointer.remember({its.version, true, path});
  }
}

// Runs the scheduler of a job in this process, until the job has ended.
//
// The members are initialised in this order: the scheduler, replay of a killed scheduler's journal, the new
// journal, the recorder's thread, and the journaled scheduler. They are destroyed in the reverse order.
class SchedulerProcess {
 public:
  // All arguments belong to the caller and outlive this. `killed`: the scheduler to replace; null for a new
  // job. `web`: null if the run has no page.
  SchedulerProcess(const SchedulerOptions& options, RunSetup& task, Killed* killed, ZmqContext& context,
                   ZmqLink& link, RunWeb* web);

  int run();  // the exit code

 private:
  ToldAgain take_place();
  std::unique_ptr<JournalFile> begin_journal();
  Recorder& introduce_run(RunWeb* web);
  Journaled::Options journal_options();

  std::vector<std::byte> head();
  bool condense(const std::vector<std::byte>& records);
  void record(Envelope envelope);
  void go_on();
  void host_all();
  int end();

  const SchedulerOptions& options_;
  RunSetup& task_;
  Killed* const killed_;
  ZmqContext& context_;
  ZmqLink& link_;
  RunWeb* const web_;

  Scheduler scheduler_;
  const Progress from_;  // where the job started
  TerminalStream terminal_;
  std::ostream shown_{nullptr};  // discards output until introduce_run()
  ProgressBar bar_;
  Recorder recorder_;
  const ToldAgain told_;               // the replayed journal of the killed scheduler
  std::unique_ptr<JournalFile> file_;  // for journal_
  RecorderThread recording_;           // owns the recorder from here on
  JournalThread journal_;
  Journaled journaled_;
};

SchedulerProcess::SchedulerProcess(const SchedulerOptions& options, RunSetup& task, Killed* killed,
                                   ZmqContext& context, ZmqLink& link, RunWeb* web)
    : options_(options),
      task_(task),
      killed_(killed),
      context_(context),
      link_(link),
      web_(web),
      scheduler_(task.file.job, task.initial.progress, policy_for(task.file.job, task.initial.progress)),
      from_(task.initial.progress),
      terminal_(standard_error()),
      bar_(shown_, style(options.quiet)),
      recorder_(task.file, task.run, bar_, killed != nullptr, {task.file.job, task.place.source}),
      told_(take_place()),
      file_(begin_journal()),
      recording_(introduce_run(web)),
      journal_(std::move(file_),
               {[this](const std::string& text) { recording_.tell(Note{text}, steady_now()); },
                speaker("scheduler", task.file.job.name, options.quiet)}),
      journaled_(
          scheduler_, [this](const std::vector<std::byte>& it) { return journal_.write(it); },
          journal_options()) {}

int SchedulerProcess::run() {
  if (killed_ != nullptr) go_on();
  host_all();
  return end();
}

// ---- start

// Replays the journal of the killed scheduler, checks that this process may lead, and listens.
ToldAgain SchedulerProcess::take_place() {
  recorder_.flush(steady_now());
  if (killed_ == nullptr) return {};
  ToldAgain told = replay_killed(*killed_, task_.run, scheduler_, recorder_);
  require_leadership(told, task_.run, scheduler_, context_);
  task_.place.listen = link_.listen(task_.place.listen, options_.port.get());
  return told;
}

std::unique_ptr<JournalFile> SchedulerProcess::begin_journal() {
  const std::string path = task_.run.journal();
  if (killed_ != nullptr) return std::make_unique<JournalFile>(path, told_.bytes);
  return std::make_unique<JournalFile>(path, head());
}

Recorder& SchedulerProcess::introduce_run(RunWeb* web) {
  if (!options_.quiet) shown_.rdbuf(&terminal_);
  introduce(bar_, task_.file, task_.run, task_.place.listen, killed_ != nullptr);
  recorder_.show_on(board_for(options_.results, task_.run));
  if (web != nullptr) show(*web, task_, recorder_, bar_, options_.quiet);
  return recorder_;
}

Journaled::Options SchedulerProcess::journal_options() {
  Journaled::Options options;
  options.standby = {version_text(), [this] { return journal_.whole(); }};
  options.condense = [this](const std::vector<std::byte>& records) { return condense(records); };
  options.pending = [this] { return journal_.pending(); };
  return options;
}

void SchedulerProcess::go_on() {
  if (!has_first_state(scheduler_, task_.file.job)) restore_values(task_);
  Outbox out(scheduler_node);
  journaled_.restarted(steady_now(), told_.follower.attempt != 0, out);
  deliver(
      link_, [this](Envelope it) { record(std::move(it)); }, out.take());
}

// ---- while it runs

std::vector<std::byte> SchedulerProcess::head() {
  return head_here(task_.run, task_.file.job, from_, task_.place, recorder_);
}

// The head is made on the recorder's thread; empty if the record cannot be written.
bool SchedulerProcess::condense(const std::vector<std::byte>& records) {
  if (!journal_.is_sound()) return false;
  auto anew = recording_.seen_by([this]() -> std::vector<std::byte> {
    try {
      if (recorder_.flush(steady_now())) return head();
    } catch (const std::exception&) {
    }
    return {};
  });
  return anew && !anew->empty() && journal_.begin_anew(std::move(*anew), records);
}

void SchedulerProcess::record(Envelope envelope) {
  if (auto* it = std::get_if<ToRecorder>(&envelope.message)) recording_.tell(std::move(*it), steady_now());
}

// Hosts the scheduler, the checkpointer and the handling of signals, until the job has ended.
void SchedulerProcess::host_all() {
  const NodeId checkpointer_node = new_node(Role::checkpointer);
  Checkpointer checkpointer(checkpointer_node, std::move(task_.initial), state_slots(task_.file.job),
                            [this](const Snapshot& about, std::size_t slots) {
                              return open_checkpoint(task_.run.checkpoints(), about, slots);
                            });
  if (killed_ != nullptr) remember_saved(task_.run, from_.term, checkpointer);
  const auto tell = [this](auto said) {
    link_.post({{link_node, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(said))}});
  };
  const SignalWatch signals([&](int) { tell(Interrupt{}); },
                            {"Ctrl-C again exits immediately", [this] { return task_.run.way_back(); }},
                            [&] { tell(Goodbye{}); },
                            [&] {
                              tell(Interrupt{{}, true});
                            });
  ZmqLink checkpointer_link(context_, checkpointer_node);
  checkpointer_link.connect(scheduler_node,
                            own_endpoint(task_.place.listen));  // over the network, like other members
  const std::jthread keeping(keep, std::ref(checkpointer), checkpointer_node, std::ref(checkpointer_link),
                             [](const std::string& line) { standard_error().line("steelyard: " + line); });
  const auto traced_link = traced(link_, options_.trace, scheduler_node, "scheduler");
  host(journaled_, scheduler_node, traced_link ? *traced_link : link_,
       [this](Envelope it) { record(std::move(it)); });
}

int SchedulerProcess::end() {
  journal_.finish();
  recording_.finish();
  if (!journaled_.ended().empty())  // a superseded scheduler must not be restarted
    throw Failure(journaled_.superseded() ? ExitCode::configuration : ExitCode::temporary,
                  journaled_.ended());
  const std::string result = verdict_json(recorder_.verdict());
  write_text(task_.run.result(), result);
  if (web_ != nullptr) web_->finish(result);
  standard_error().settle();  // on one terminal the summary is the last thing that people see
  standard_output().write(recorder_.summary());
  return static_cast<int>(exit_code(scheduler_.outcome().outcome));
}

// The state left by an earlier process of this run, with --recover and if it had begun.
struct Left {
  std::optional<RunDirectory> run;
  std::unique_ptr<RunLock> lock;
  std::optional<Killed> killed;
};

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

}  // namespace

int run_scheduler(const SchedulerOptions& options, JobFile file) {
  block_signals();  // signals wait until SignalWatch handles them
  auto [run, lock, killed] = left_behind(options);
  const std::string listen = killed ? killed->place.listen : listening_endpoint(options.listen);
  std::unique_ptr<Trust> trust = trust_for(options.keys, KeyRole::scheduler, "scheduler", false);
  const std::string key = trust ? trust->own().public_key : "";
  if (killed) require_key(killed->place, key, "--recover: the run in " + run->path());
  require_loopback(listen, options.insecure || !options.keys.empty());
  if (!killed && !options.results.resume_from.empty()) require_checkpoint(options.results.resume_from);
  require_descriptors_for(killed ? killed->job : file.job);
  const std::unique_ptr<RunWeb> web =
      web_for(options.results);  // first, so that a port in use is reported before anything starts
  ZmqContext context(1, std::move(trust));
  ZmqLink link(context, scheduler_node);
  RunSetup task =
      killed ? go_on(*killed, *run)
             : begin_anew(options, std::move(file), std::move(run), lock, link, link.listen(listen), key);
  return SchedulerProcess(options, task, killed ? &*killed : nullptr, context, link, web.get()).run();
}

}  // namespace steelyard
