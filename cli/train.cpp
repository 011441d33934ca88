#include "cli/train.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>

#include "cli/beginning.h"
#include "cli/children.h"
#include "cli/job_file.h"
#include "cli/prepare_job.h"
#include "cli/roles.h"
#include "cli/run_directory.h"
#include "cli/signals.h"
#include "cli/socket_directory.h"
#include "core/error.h"

namespace steelyard {
namespace {

constexpr Duration farewell = std::chrono::seconds(5);  // for the others to end after the scheduler
constexpr Duration doubt = std::chrono::seconds(2);     // whether a process failed, or the job did
constexpr unsigned most_restarts = 3;                   // of one worker

RunDirectory run_directory(const TrainCommand& command, const Job& job) {
  if (command.resume) {
    if (command.run_directory.empty()) {
      throw Failure(ExitCode::usage, "--resume needs --run-dir: the directory of the run to go on with");
    }
    return RunDirectory::open(command.run_directory);
  }
  if (!command.run_directory.empty()) return RunDirectory::create(command.run_directory);
  return RunDirectory::next("runs", job.name);
}

// The cluster: knows how each process is started, so that a worker that was killed can be started again.
class Cluster {
 public:
  Cluster(const TrainCommand& command, const JobFile& file, const RunDirectory& run)
      : command_(command), file_(file), run_(run) {}

  void start() {
    start_scheduler();
    for (std::uint32_t i = 0; i < file_.servers; ++i) start_server("server-" + std::to_string(i));
    for (const WorkerSpec& worker : file_.worker_specs) start_worker(worker);
  }
  // Watches until the scheduler has ended; returns the job's exit code.
  int supervise(const std::atomic<bool>& interrupted);

 private:
  void start_scheduler();
  void start_server(const std::string& name);
  void start_worker(const WorkerSpec& spec);
  std::optional<int> ended(const Child& child);
  void failed(const Child& child);
  void start_again(const std::string& name);
  void give_up(int code);

  const TrainCommand& command_;
  const JobFile& file_;
  const RunDirectory& run_;
  const SocketDirectory sockets_;
  std::map<std::string, unsigned> restarts_;
  // Ended with a code that may be the job's own: then the scheduler ends too, and has said why.
  struct Doubtful {
    Child child;
    Time since;
  };
  std::vector<Doubtful> doubtful_;
  bool ending_ = false;  // the scheduler has been told to end
  int code_ = 0;         // why, if it was our decision
  Children children_;    // first to go
};

void Cluster::start_scheduler() {
  std::vector<std::string> arguments{
      "scheduler", run_.job(),  "--listen",       sockets_.endpoint("scheduler"),
      "--run-dir", run_.path(), "--run-dir-ready"};
  if (command_.resume) arguments.emplace_back("--resume");
  if (!command_.resume_from.empty())
    arguments.insert(arguments.end(), {"--resume-from", command_.resume_from});
  if (command_.quiet) arguments.emplace_back("--quiet");
  children_.start("scheduler", arguments, "");
}

void Cluster::start_server(const std::string& name) {
  const unsigned shards = file_.job.shards / file_.servers;
  children_.start(
      name,
      {"server", "--scheduler", sockets_.endpoint("scheduler"), "--name", name, "--listen",
       shards == 1 ? sockets_.endpoint(name) : "tcp://127.0.0.1:*", "--shards", std::to_string(shards)},
      run_.log(name));
}

void Cluster::start_worker(const WorkerSpec& spec) {
  children_.start(spec.name,
                  {"worker", "--scheduler", sockets_.endpoint("scheduler"), "--name", spec.name, "--device",
                   spec.device, "--slow", spec.slow, "--cpu", spec.cpu, "--most", std::to_string(spec.most)},
                  run_.log(spec.name));
}

int Cluster::supervise(const std::atomic<bool>& interrupted) {
  while (true) {
    if (interrupted && !std::exchange(ending_, true)) children_.signal("scheduler", SIGTERM);
    for (const Child& child : children_.ended()) {
      if (const auto code = ended(child)) return *code;
    }
    while (!doubtful_.empty() && steady_now() - doubtful_.front().since > doubt) {
      const Child child = doubtful_.front().child;
      doubtful_.erase(doubtful_.begin());
      failed(child);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// What follows from the end of a process; the job's exit code if it was the scheduler.
std::optional<int> Cluster::ended(const Child& child) {
  if (child.name == "scheduler") {
    if (WIFEXITED(*child.status)) {
      children_.wait_all(farewell);
      return code_ != 0 ? code_ : WEXITSTATUS(*child.status);
    }
    // Nobody has told the others to end, and nobody will: they are not waited for.
    std::fprintf(stderr, "steelyard: the scheduler %s; %s\n", describe_status(*child.status).c_str(),
                 run_.way_back().c_str());
    return static_cast<int>(ExitCode::unreachable);
  }
  if (!WIFEXITED(*child.status)) {
    failed(child);
  } else if (WEXITSTATUS(*child.status) != 0) {
    doubtful_.push_back({child, steady_now()});
  }
  return std::nullopt;
}

void Cluster::failed(const Child& child) {
  if (ending_) return;
  std::fprintf(stderr, "steelyard: process '%s' %s; its log is %s\n%s", child.name.c_str(),
               describe_status(*child.status).c_str(), child.log.c_str(), last_lines(child.log, 5).c_str());
  if (WIFEXITED(*child.status)) {
    // It has said why, and would again. One that was told to leave is no failure: the others go on.
    const int code = WEXITSTATUS(*child.status);
    if (code != static_cast<int>(ExitCode::temporary)) give_up(code);
  } else if (++restarts_[child.name] > most_restarts) {
    give_up(static_cast<int>(ExitCode::failed));
  } else {
    start_again(child.name);
  }
}

// What was killed may live longer the second time. A server that had a part of the model cannot go on without
// it: the scheduler then ends the job and says so.
void Cluster::start_again(const std::string& name) {
  std::fprintf(stderr, "steelyard: starting '%s' again\n", name.c_str());
  for (const WorkerSpec& spec : file_.worker_specs) {
    if (spec.name == name) return start_worker(spec);
  }
  start_server(name);
}

void Cluster::give_up(int code) {
  std::fprintf(stderr, "steelyard: ending the job\n");
  code_ = code;
  ending_ = true;
  children_.signal("scheduler", SIGTERM);
}

}  // namespace

int run_train(const TrainCommand& command, const Extensions& extensions) {
  JobFile file = read_job_file(command.job_file, command.overrides);
  // Every mistake that can be found is found here, before anything is started.
  Job job = file.job;
  SampleSource source;
  {
    const Prepared prepared = prepare(job, extensions);
    complete(job, prepared);
    source = sample_source(job, prepared.data);
  }
  for (const WorkerSpec& worker : file.worker_specs) require_device(worker.name, worker.device);
  const auto check = [&](const std::string& checkpoint) {
    (void)check_resumable(checkpoint, read_manifest(checkpoint), job, source);
  };
  if (!command.resume_from.empty()) {
    require_checkpoint(command.resume_from);
    check(command.resume_from);
  }
  const RunDirectory run = run_directory(command, file.job);
  const std::vector<std::string> there = list_checkpoints(run.checkpoints());
  if (command.resume && command.resume_from.empty() && !there.empty()) check(there.front());
  write_text(run.job(), file.resolved);
  std::atomic<bool> interrupted = false;
  const SignalWatch signals([&](int) { interrupted = true; },
                            {"Ctrl-C again ends at once", [&] { return run.way_back(); }});
  setenv("OMP_NUM_THREADS", "1", 1);  // one computing thread a worker, also inside oneDNN
  Cluster cluster(command, file, run);
  cluster.start();
  return cluster.supervise(interrupted);
}

}  // namespace steelyard
