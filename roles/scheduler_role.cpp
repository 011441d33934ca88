#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <thread>

#include "balancing/policies.h"
#include "config/prepare_job.h"
#include "core/error.h"
#include "report/recorder_thread.h"
#include "report/terminal_text.h"
#include "report/terminal_writer.h"
#include "roles/beginning.h"
#include "roles/endpoint.h"
#include "roles/external_model.h"
#include "roles/roles.h"
#include "roles/run_lock.h"
#include "roles/signals.h"
#include "roles/traced_link.h"
#include "roles/within_memory.h"
#include "scheduler/scheduler.h"
#include "server/checkpointer.h"
#include "wire/transport/host.h"
#include "wire/transport/zmq.h"

namespace steelyard {
namespace {

// The checkpoint that the run goes on from; empty: none, it begins anew.
std::string checkpoint_for(const ResultOptions& options, const RunDirectory& run) {
  if (!options.resume_from.empty() || !options.resume) return options.resume_from;
  std::vector<std::string> warnings;
  std::string path = newest_checkpoint(run.checkpoints(), &warnings);
  for (const std::string& warning : warnings)
    std::fprintf(stderr, "steelyard: %s\n", shown_line(warning).c_str());
  return path;
}

// What is trained, from whom: built here, or told by the workers.
struct Trained {
  ModelDescription description;
  std::function<std::vector<float>(std::uint64_t seed)> weights;  // called once at most
};

Trained built_here(const Job& job, const Extensions& extensions) {
  const Workload workload = workload_of(job, extensions);
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
JobFile as_told(JobFile own, const ModelDescription& told, const Extensions& extensions) {
  if (!told.job.empty()) {
    const ClusterSpec cluster{own.job.shards, own.worker_specs};
    std::vector<std::string> overrides = own.overrides;
    std::erase_if(overrides, [](const std::string& it) { return it.starts_with("worker."); });
    overrides.push_back(std::string("model.name=") + external_model);
    own = parse_job(told.job, "the job of the first worker", overrides, extensions, &cluster);
  }
  own.job.data = told.data;
  own.job.data_options = {{data_mark, told.data_hash}};
  return own;
}

// What the shards begin with. Data and weights are not needed afterwards.
Snapshot beginning(const std::string& checkpoint, const Job& job, Trained trained) {
  const SampleSource source = sample_source(job, trained.description);
  if (checkpoint.empty()) return fresh_beginning(job, source, trained.weights(job.seed));
  for (const std::string& note : check_resumable(checkpoint, read_manifest(checkpoint), job, source)) {
    std::fprintf(stderr, "steelyard: %s\n", shown_line(note).c_str());
  }
  Snapshot snapshot = resumed_beginning(checkpoint, job, source);
  std::fprintf(stderr, "resuming from %s: epoch %llu, round %llu\n", checkpoint.c_str(),
               static_cast<unsigned long long>(snapshot.progress.epoch),
               static_cast<unsigned long long>(snapshot.progress.version));
  return snapshot;
}

ProgressStyle style(bool quiet) {
  ProgressStyle style =
      progress_style(!quiet && isatty(STDERR_FILENO) == 1, terminal_width(STDERR_FILENO), std::getenv("TERM"),
                     std::getenv("NO_COLOR"), std::getenv("CLICOLOR_FORCE"));
  style.file = STDERR_FILENO;
  return style;
}

// A policy's state is soft: another policy simply begins anew.
std::unique_ptr<balancing::Policy> policy_for(const Job& job, Progress& from, const Extensions& extensions) {
  auto policy = policy_of(job, extensions);
  try {
    if (!from.policy_state.empty()) policy->restore(from.policy_state);
  } catch (const Failure&) {
    std::fprintf(stderr,
                 "steelyard: the checkpoint was written under another policy or release; '%s' begins anew\n",
                 job.policy.c_str());
    from.policy_state.clear();
  }
  return policy;
}

// Hosts the checkpointer until it is told to stop. What it has no memory for it does again when asked once
// more; the training goes on meanwhile.
void keep(const std::stop_token& told, Checkpointer& checkpointer, NodeId node, Link& link) {
  const std::stop_callback stop(told, [&] {
    link.post({{link_node, node, Message(std::in_place_type<ToCheckpointer>, Stop{})}});
  });
  while (!checkpointer.finished()) {
    try {
      host(checkpointer, node, link);
    } catch (const std::bad_alloc&) {
      std::fprintf(stderr, "steelyard: no memory is left to load or save the model; trying again\n");
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
}

void introduce(ProgressBar& bar, const JobFile& file, const RunDirectory& run, const std::string& endpoint) {
  bar.note("job '" + file.job.name + "': " + std::to_string(file.job.layout.size()) +
           " parameters, results in " + run.path());
  bar.note("waiting for " + std::to_string(file.job.shards) + " shards and " +
           std::to_string(file.job.workers) + " workers at " + endpoint);
  if (const std::string note = memory_note(file); !note.empty()) bar.note(note);
}

std::unique_ptr<TensorboardFile> board_for(const ResultOptions& results, const RunDirectory& run) {
  if (!results.tensorboard) return nullptr;
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::make_unique<TensorboardFile>(run.tensorboard(),
                                           std::chrono::duration<double>(since_1970).count());
}

void require_descriptors_for(const Job& job) {
  raise_descriptor_limit();
  require_descriptors("a scheduler of " + std::to_string(job.shards) + " shards", job.shards,
                      job.shards + job.workers);
}

}  // namespace

int run_scheduler(const SchedulerOptions& options, JobFile file, const Extensions& extensions) {
  block_signals();  // a request to end waits until somebody listens
  const std::string listen = listening_endpoint(options.listen);
  require_loopback(listen, options.insecure);
  const ResultOptions& results = options.results;
  if (!results.resume_from.empty()) require_checkpoint(results.resume_from);
  const bool external = file.job.model == external_model;
  Trained trained = external ? Trained{} : built_here(file.job, extensions);
  if (!external) complete(file.job, trained.description, extensions);
  require_descriptors_for(file.job);

  ZmqContext context;
  ZmqLink link(context, scheduler_node);
  const std::string endpoint = link.listen(listen);
  if (external) {
    trained = told_by_workers(file.job, link, endpoint, options.quiet);
    file = as_told(std::move(file), trained.description, extensions);
    complete(file.job, trained.description, extensions);
  }
  const RunDirectory run = choose_run_directory(results, file.job.name);
  const RunLock lock(run.path(), results.lock);
  Snapshot initial;
  within_memory("the scheduler", file.job,
                [&] { initial = beginning(checkpoint_for(results, run), file.job, std::move(trained)); });
  write_text(run.job(), file.resolved);
  auto policy = policy_for(file.job, initial.progress, extensions);
  Scheduler scheduler(file.job, initial.progress, std::move(policy));

  TerminalWriter terminal(STDERR_FILENO);
  std::ostream shown(options.quiet ? nullptr : &terminal);
  ProgressBar bar(shown, style(options.quiet));
  introduce(bar, file, run, endpoint);
  Recorder recorder(file, run, bar, board_for(results, run));
  RecorderThread recording(recorder);
  const NodeId checkpointer_node = new_node(Role::checkpointer);
  Checkpointer checkpointer(checkpointer_node, std::move(initial), state_slots(file.job),
                            [&](const Snapshot& about, std::size_t slots) {
                              return open_checkpoint(run.checkpoints(), about, slots);
                            });
  const auto tell = [&](auto said) {
    link.post({{link_node, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(said))}});
  };
  const SignalWatch signals([&](int) { tell(Interrupt{}); },
                            {"Ctrl-C again ends at once", [&] { return run.way_back(); }},
                            [&] { tell(Leave{}); });
  ZmqLink checkpointer_link(context, checkpointer_node);
  checkpointer_link.connect(scheduler_node, own_endpoint(endpoint));  // it speaks like everybody else
  const std::jthread keeping(keep, std::ref(checkpointer), checkpointer_node, std::ref(checkpointer_link));
  const auto trace = traced(link, options.trace, scheduler_node, "scheduler");
  host(scheduler, scheduler_node, trace ? *trace : link, [&](Envelope envelope) {
    if (auto* it = std::get_if<ToRecorder>(&envelope.message)) recording.tell(std::move(*it), steady_now());
  });
  recording.finish();
  write_text(run.result(), verdict_json(recorder.verdict()));
  terminal.finish();  // from here on only people wait, for whoever stopped the terminal
  std::cout << recorder.summary() << std::flush;
  return static_cast<int>(exit_code(scheduler.outcome().outcome));
}

}  // namespace steelyard
