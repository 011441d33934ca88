#include <fstream>
#include <memory>
#include <optional>

#include "app/processes/endpoint.h"
#include "app/processes/journal_file.h"
#include "app/processes/processes.h"
#include "app/processes/recovered_run.h"
#include "app/processes/run_journal.h"
#include "app/processes/signals.h"
#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/web/run_web.h"
#include "core/error.h"
#include "scheduler/recovery/journaled.h"
#include "scheduler/recovery/standby.h"
#include "transport/host.h"
#include "transport/zmq.h"

namespace steelyard {
namespace {

// The run directory of a standby, kept in the state that a killed scheduler would leave.
class Copy {
 public:
  Copy(const SchedulerOptions& lead) : results_(lead.results), listen_(listening_endpoint(lead.listen)) {}

  void write(const JournalRecord& record) {
    if (const auto* head = std::get_if<JournalHead>(&record.what)) return begin(record.now, *head);
    if (std::holds_alternative<Condensed>(record.what) && begin_anew(record)) return;
    std::vector<std::byte> bytes;
    append(bytes, record);
    if (!journal_) throw Failure(ExitCode::protocol, "the scheduler's journal has no head");
    if (journal_->write(bytes) != JournalFile::News::none)
      throw Failure(ExitCode::io, run_->journal() + ": " + journal_->trouble() + ": this standby exits");
  }
  // The arbiter named in the journal.
  [[nodiscard]] std::optional<Standby::Place> arbiter() {
    std::optional<Killed> left = run_ ? left_by_killed(*run_) : std::nullopt;
    if (!left) return std::nullopt;
    Scheduler scheduler(left->job, left->from, policy_for(left->job, left->from));
    JournalReader journal(left->journal);
    (void)journal.next();
    const auto follower =
        replay(journal, scheduler, [](const JournalRecord&, const std::vector<Envelope>&) {});
    generation_ = scheduler.members().generation;
    return arbiter_in(follower, scheduler.members());
  }
  // The options with which this process leads. It stops following.
  SchedulerOptions take_over(SchedulerOptions lead) {
    write({steady_now(), TookOver{generation_ + 1}});
    journal_.reset();
    lock_.reset();
    lead.results.directory = run_->path();
    lead.recover = true;
    return lead;
  }
  [[nodiscard]] std::string path() const { return run_ ? run_->path() : ""; }

 private:
  void begin(Time now, const JournalHead& head) {
    if (!run_) {
      run_ = choose_run_directory(results_, head.job->name);
      lock_ = std::make_unique<RunLock>(run_->path());
    }
    Progress from = head.from;
    (void)policy_for(*head.job, from);
    require_descriptors_for(*head.job);
    write_text(run_->job(), job_text_in(head));
    // The record of the run is rebuilt from the whole journal.
    for (const std::string& file : {run_->rounds(), run_->events()}) std::ofstream(file, std::ios::trunc);
    std::vector<std::byte> bytes;
    append(bytes, {now, moved(head, listen_)});
    journal_ = std::make_unique<JournalFile>(run_->journal(), bytes);
  }

  // Condenses the copy: writes its records into the files of the run. Returns false if it stays as it was.
  bool begin_anew(const JournalRecord& condensed) {
    std::optional<Killed> left = run_ ? left_by_killed(*run_) : std::nullopt;
    if (!left) return false;
    cut_record(*run_, left->place);
    JobFile file = read_job_file(run_->job(), {});
    file.job = left->job;
    std::ostream nowhere(nullptr);
    ProgressBar bar(nowhere, {});
    Recorder recorder(file, *run_, bar, true);
    Scheduler scheduler(left->job, left->from, policy_for(left->job, left->from));
    (void)tell_again(*left, scheduler, recorder);
    if (!recorder.flush(condensed.now)) return false;
    std::vector<std::byte> bytes = head_here(*run_, left->job, left->from, left->place, recorder);
    append(bytes, condensed);
    return journal_->begin_anew(bytes);
  }

  const ResultOptions results_;
  const std::string listen_;
  std::optional<RunDirectory> run_;
  std::unique_ptr<RunLock> lock_;
  std::unique_ptr<JournalFile> journal_;
  std::uint64_t generation_ = 0;  // of the scheduler that it follows; set by arbiter()
};

void tell(const StandbyOptions& options, const std::string& text) {
  if (!options.lead.quiet) standard_error().line("steelyard standby: " + shown_line(text));
}

// Follows until the scheduler is lost. Returns whether this process leads now.
bool follow(const StandbyOptions& options, Copy& copy, int& code) {
  const NodeId self = new_node(Role::standby);
  const std::string scheduler = scheduler_places(options.scheduler);
  std::unique_ptr<Trust> trust = trust_for(options.lead.keys, KeyRole::scheduler, "scheduler", false);
  const std::string key = trust ? trust->own().public_key : "";
  ZmqContext context(1, std::move(trust));
  ZmqLink link(context, self);
  Standby standby({version_text(), new_node(Role::standby).number, from_seconds(options.wait),
                   [&] { tell(options, "following the scheduler at " + scheduler); },
                   [&](const JournalRecord& record) {
                     if (const auto* head = std::get_if<JournalHead>(&record.what))
                       require_key(*head, key, "the job of the scheduler at " + scheduler);
                     copy.write(record);
                   },
                   [&] { return copy.arbiter(); }});
  const SignalWatch signals(
      [&](int) {
        link.post({{link_node, self, Message(std::in_place_type<ToStandby>, Interrupt{})}});
      },
      {"Ctrl-C again exits immediately", [] { return "the job continues without this standby"; }});
  tell(options, looking_for(scheduler, options.wait));
  link.connect(scheduler_node, scheduler);
  host(standby, self, link);
  if (!standby.leads()) code = verdict("standby", standby.exit_reason(), options.scheduler);
  return standby.leads();
}

// The page is worth less than the job: without its port the job goes on without a page.
void drop_page_if_in_use(const StandbyOptions& options, SchedulerOptions& lead) try {
  if (!lead.results.web.empty()) const RunWeb probe(lead.results.web);
} catch (const Failure& failure) {
  tell(options, std::string("the job has no page: ") + failure.what());
  lead.results.web.clear();
}

}  // namespace

int run_standby(const StandbyOptions& options) {
  block_signals();
  require_loopback(listening_endpoint(options.lead.listen),
                   options.lead.insecure || !options.lead.keys.empty());
  if (options.lead.listen.ends_with(":*")) {
    throw Failure(ExitCode::usage,
                  "--listen " + options.lead.listen +
                      ": servers and workers must know a standby's port before it leads: give a port number");
  }
  Copy copy(options.lead);
  // Reserves the port now: when the scheduler is lost, no other process could lead.
  SchedulerOptions lead = options.lead;
  lead.port = std::make_shared<ReservedPort>(listening_endpoint(lead.listen));
  if (!lead.results.web.empty()) const RunWeb probe(lead.results.web);  // a port in use is reported now
  int code = 0;
  if (!follow(options, copy, code)) return code;
  tell(options, "the scheduler is lost: leading the job now, in " + copy.path());
  drop_page_if_in_use(options, lead);
  return run_scheduler(copy.take_over(std::move(lead)), {});
}

}  // namespace steelyard
