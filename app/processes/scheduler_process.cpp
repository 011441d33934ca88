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
#include "app/processes/beginning.h"
#include "app/processes/endpoint.h"
#include "app/processes/journal_thread.h"
#include "app/processes/killed.h"
#include "app/processes/leadership.h"
#include "app/processes/processes.h"
#include "app/processes/run_journal.h"
#include "app/processes/signals.h"
#include "app/processes/traced_link.h"
#include "app/report/output_file.h"
#include "app/report/recorder_thread.h"
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

// The checkpoint that the run goes on from; empty: none, it begins anew.
std::string checkpoint_for(const ResultOptions& options, const RunDirectory& run) {
  if (!options.resume_from.empty() || !options.resume) return options.resume_from;
  std::vector<std::string> warnings;
  std::string path = newest_checkpoint(run.checkpoints(), &warnings);
  for (const std::string& warning : warnings) standard_error().line("steelyard: " + shown_line(warning));
  return path;
}

// What is trained, from whom: built here, or told by the workers.
struct Trained {
  ModelDescription description;
  std::function<std::vector<float>(std::uint64_t seed)> weights;  // called once at most
};

Trained built_here(const Job& job) {
  const Workload workload = workload_of(job);
  return {describe(workload), [workload](std::uint64_t seed) { return first_weights(workload, seed); }};
}

Trained told_by_workers(const Job& job, Link& link, const std::string& endpoint, bool quiet) {
  const auto say = speaker("scheduler", job.name, quiet);
  say("waiting for a worker that brings the model, at " + endpoint);
  std::optional<WorkersModel> told = model_of_workers(link, job.seed, say);
  if (!told) throw Failure(ExitCode::temporary, "the job was ended before a worker had told its model");
  return {std::move(told->description),
          [weights = std::move(told->weights)](std::uint64_t) mutable { return std::move(weights); }};
}

// The job as the program of the first worker says it, where that says anything. Servers and workers are
// still this scheduler's, and so is what --set gave it.
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

// What the shards begin with. Data and weights are not needed afterwards.
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
  if (goes_on)
    return bar.note("going on with job '" + file.job.name + "' in " + run.path() + " at " + endpoint);
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

// What this process is about, whether the job begins here or goes on.
struct Task {
  JobFile file;
  RunDirectory run;
  Snapshot initial{};
  SchedulersPlace place{};
};

std::unique_ptr<RunWeb> web_for(const ResultOptions& results) {
  return results.web.empty() ? nullptr : std::make_unique<RunWeb>(results.web);
}

// What was recorded before, of a run that goes on; a page does without what cannot be read.
std::string recorded(const std::string& path) try {
  return std::filesystem::exists(path) ? read_input(path, {"record of the run", 64, ""}) : "";
} catch (const std::exception&) {
  return "";
}

// The chosen port has to be told even to those who want to hear nothing else.
void show(RunWeb& web, const Task& task, Recorder& recorder, ProgressBar& bar, bool quiet) {
  recorder.flush(steady_now());
  const RunDirectory& run = task.run;
  web.begin({run.path(), task.file.resolved, recorded(run.rounds()), recorded(run.events())});
  recorder.tell([&web](bool event, const std::string& line) { web.tell(event, line); });
  const std::string told = "the run can be watched at " + web.url() +
                           (web.for_others() ? ", also by those who can reach this machine" : "");
  bar.note(told);
  if (quiet) standard_error().line(told);
}

// A job that nobody knows yet. `run`: the directory, where that is chosen already. `key`: of this process.
Task begin_anew(const SchedulerOptions& options, JobFile file, std::optional<RunDirectory> run,
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
  Task task{std::move(file), *run};
  const Job& job = task.file.job;
  std::filesystem::remove(run->journal());  // of an earlier life
  task.place = {endpoint, task.file.resolved, checkpoint_for(results, *run),
                sample_source(job, trained.description)};
  task.place.key = key;
  within_memory("the scheduler", job, [&] {
    task.initial = beginning(task.place.checkpoint, job, task.place.source, std::move(trained));
  });
  write_text(run->job(), task.file.resolved);
  return task;
}

// A scheduler that was killed before its job was written had told nobody of it. What it had made goes, so
// that one that begins anew finds the directory empty.
void clear_unbegun(const std::string& directory) {
  if (!std::filesystem::exists(directory)) return;
  { const RunLock nobody_else(directory); }
  std::error_code ignored;  // where there is more in it, it is refused as any other
  for (const char* made : {"/checkpoints", "/log", "/lock"})
    std::filesystem::remove(directory + made, ignored);
}

// One whose scheduler was killed.
Task go_on(const Killed& killed, const RunDirectory& run) {
  Task task{read_job_file(run.job(), {}), run, without_values(killed), killed.place};
  task.file.job = killed.job;
  cut_record(run, killed.place);
  return task;
}

// Where servers still wait for the first state, it is made once more.
void restore_values(Task& task) {
  const Job& job = task.file.job;
  if (job.model == external_model) {
    throw Failure(ExitCode::temporary,
                  "the scheduler was killed before the servers had the model that a worker had told, and "
                  "begins anew only with new workers: start the job again");
  }
  const Progress from = task.initial.progress;
  within_memory("the scheduler", job, [&] {
    task.initial = beginning(task.place.checkpoint, job, task.place.source, built_here(job));
  });
  task.initial.progress = from;
}

// Whether nobody will ask for the first state any more. Until the training begins a server that is lost is
// replaced by another, which needs it; a model that a worker told is not there for it.
bool has_first_state(const Scheduler& scheduler, const Job& job) {
  const bool loaded = scheduler.members().all_shards_loaded(job.shards);
  return scheduler.phase() != Phase::gathering || (job.model == external_model && loaded);
}

// What an earlier process of this run has saved, and may have told nobody.
void remember_saved(const RunDirectory& run, Term term, Checkpointer& checkpointer) {
  for (const std::string& path : list_checkpoints(run.checkpoints())) {
    const Progress its = read_manifest(path).progress;
    if (its.term == term) checkpointer.remember({its.version, true, path});
  }
}

// Hosts the scheduler, and beside it the checkpointer and whoever asks it to end, until the job has ended.
void host_all(Journaled& scheduler, Task& task, bool goes_on, const std::string& trace, ZmqContext& context,
              ZmqLink& link, const LocalDelivery& local) {
  const Term term = task.initial.progress.term;
  const NodeId checkpointer_node = new_node(Role::checkpointer);
  Checkpointer checkpointer(checkpointer_node, std::move(task.initial), state_slots(task.file.job),
                            [&](const Snapshot& about, std::size_t slots) {
                              return open_checkpoint(task.run.checkpoints(), about, slots);
                            });
  if (goes_on) remember_saved(task.run, term, checkpointer);
  const auto tell = [&](auto said) {
    link.post({{link_node, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(said))}});
  };
  const SignalWatch signals([&](int) { tell(Interrupt{}); },
                            {"Ctrl-C again ends at once", [&] { return task.run.way_back(); }},
                            [&] { tell(Leave{}); });
  ZmqLink checkpointer_link(context, checkpointer_node);
  checkpointer_link.connect(scheduler_node,
                            own_endpoint(task.place.listen));  // it speaks like everybody else
  const std::jthread keeping(keep, std::ref(checkpointer), checkpointer_node, std::ref(checkpointer_link),
                             [](const std::string& line) { standard_error().line("steelyard: " + line); });
  const auto traced_link = traced(link, trace, scheduler_node, "scheduler");
  host(scheduler, scheduler_node, traced_link ? *traced_link : link, local);
}

// Of the killed one, if it may lead; and listens.
ToldAgain take_place(Killed& killed, Task& task, Scheduler& scheduler, Recorder& recorder,
                     const SchedulerOptions& options, ZmqContext& context, ZmqLink& link) {
  ToldAgain told = replay_killed(killed, task.run, scheduler, recorder);
  require_leadership(told, task.run, scheduler, context);
  task.place.listen = link.listen(task.place.listen, options.port.get());
  return told;
}

// On the recorder's thread. Empty where the record cannot be written.
std::vector<std::byte> head_of_flushed(Recorder& recorder,
                                       const std::function<std::vector<std::byte>()>& head) try {
  return recorder.flush(steady_now()) ? head() : std::vector<std::byte>();
} catch (const std::exception&) {
  return {};
}

// The scheduler's job from here to its end; the exit code.
int lead(const SchedulerOptions& options, Task& task, Killed* killed, ZmqContext& context, ZmqLink& link,
         RunWeb* web) {
  auto policy = policy_for(task.file.job, task.initial.progress);
  const Progress from = task.initial.progress;
  Scheduler scheduler(task.file.job, from, std::move(policy));

  TerminalStream terminal(standard_error());
  std::ostream shown(nullptr);
  ProgressBar bar(shown, style(options.quiet));
  Recorder recorder(task.file, task.run, bar, killed != nullptr);
  recorder.flush(steady_now());
  const auto head = [&] { return head_here(task.run, task.file.job, from, task.place, recorder); };
  ToldAgain told;
  if (killed != nullptr) told = take_place(*killed, task, scheduler, recorder, options, context, link);
  auto file = killed != nullptr ? std::make_unique<JournalFile>(task.run.journal(), told.bytes)
                                : std::make_unique<JournalFile>(task.run.journal(), head());
  if (!options.quiet) shown.rdbuf(&terminal);
  introduce(bar, task.file, task.run, task.place.listen, killed != nullptr);
  recorder.show_on(board_for(options.results, task.run));
  if (web != nullptr) show(*web, task, recorder, bar, options.quiet);
  RecorderThread recording(recorder);
  const auto local = [&](Envelope envelope) {
    if (auto* it = std::get_if<ToRecorder>(&envelope.message)) recording.tell(std::move(*it), steady_now());
  };
  JournalThread journal(std::move(file),
                        {[&](const std::string& text) { recording.tell(Note{text}, steady_now()); },
                         speaker("scheduler", task.file.job.name, options.quiet)});
  const auto condense = [&](const std::vector<std::byte>& records) {
    if (!journal.is_sound()) return false;
    auto anew = recording.seen_by([&] { return head_of_flushed(recorder, head); });
    return anew && !anew->empty() && journal.begin_anew(std::move(*anew), records);
  };
  Journaled::Options journals{{version_text(), [&] { return journal.whole(); }}, condense};
  journals.pending = [&] { return journal.pending(); };
  Journaled journaled(
      scheduler, [&](const std::vector<std::byte>& record) { return journal.write(record); }, journals);
  if (killed != nullptr) {
    if (!has_first_state(scheduler, task.file.job)) restore_values(task);
    Outbox out(scheduler_node);
    journaled.restarted(steady_now(), told.follower.attempt != 0, out);
    deliver(link, local, out.take());
  }
  host_all(journaled, task, killed != nullptr, options.trace, context, link, local);
  journal.finish();
  recording.finish();
  if (!journaled.ended().empty())  // to start a superseded one again makes no sense
    throw Failure(journaled.superseded() ? ExitCode::configuration : ExitCode::temporary, journaled.ended());
  write_text(task.run.result(), verdict_json(recorder.verdict()));
  standard_error().settle();  // on one terminal the summary is the last thing that people see
  standard_output().write(recorder.summary());
  return static_cast<int>(exit_code(scheduler.outcome().outcome));
}

}  // namespace

int run_scheduler(const SchedulerOptions& options, JobFile file) {
  block_signals();  // a request to end waits until somebody listens
  const ResultOptions& results = options.results;
  std::optional<RunDirectory> run;
  std::unique_ptr<RunLock> lock;
  std::optional<Killed> killed;
  const bool had_begun = options.recover && std::filesystem::exists(results.directory + "/job.toml");
  if (options.recover && !had_begun) clear_unbegun(results.directory);
  if (had_begun) {
    run = RunDirectory::open(results.directory);
    lock = std::make_unique<RunLock>(run->path(), results.lock);
    killed = left_by_killed(*run);
  }
  const std::string listen = killed ? killed->place.listen : listening_endpoint(options.listen);
  std::unique_ptr<Trust> trust = trust_for(options.keys, KeyRole::scheduler, "scheduler", false);
  const std::string key = trust ? trust->own().public_key : "";
  if (killed) require_key(killed->place, key, "--recover: the run in " + run->path());
  require_loopback(listen, options.insecure || !options.keys.empty());
  if (!killed && !results.resume_from.empty()) require_checkpoint(results.resume_from);
  require_descriptors_for(killed ? killed->job : file.job);
  const std::unique_ptr<RunWeb> web = web_for(results);  // a taken port is told before anything begins
  ZmqContext context(1, std::move(trust));
  ZmqLink link(context, scheduler_node);
  Task task =
      killed ? go_on(*killed, *run)
             : begin_anew(options, std::move(file), std::move(run), lock, link, link.listen(listen), key);
  return lead(options, task, killed ? &*killed : nullptr, context, link, web.get());
}

}  // namespace steelyard
