#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>

#include "app/config/prepare_job.h"
#include "app/processes/endpoint.h"
#include "app/processes/journal_thread.h"
#include "app/processes/processes.h"
#include "app/processes/run_setup.h"
#include "app/processes/signals.h"
#include "app/processes/traced_link.h"
#include "app/report/output_file.h"
#include "app/report/recorder.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/web/run_web.h"
#include "core/error.h"
#include "core/record_parts.h"
#include "scheduler/recovery/journaled.h"
#include "server/checkpoint/checkpointer.h"
#include "transport/host.h"
#include "transport/zmq.h"

namespace steelyard {
namespace {

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

std::unique_ptr<RunWeb> web_for(const ResultOptions& results) {
  return results.web.empty() ? nullptr : std::make_unique<RunWeb>(results.web);
}

// The earlier record of a continued run, for its page; empty if it cannot be read.
std::string recorded(const std::string& path) {
  constexpr std::uint64_t most = 64 << 20;  // bytes
  return size_of_parts(path) <= most ? read_parts(path) : "";
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
      recorder_(task.file, task.run, bar_, killed != nullptr, {task.file.job, task.place.source},
                static_cast<std::uint64_t>(1e6 * options.results.rotate_mb)),
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
  if (journaled_.superseded()) note_superseded(task_.run);
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
