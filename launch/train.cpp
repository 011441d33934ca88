#include "launch/train.h"

#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "config/job_file.h"
#include "config/prepare_job.h"
#include "core/error.h"
#include "launch/children.h"
#include "launch/socket_directory.h"
#include "launch/supervision.h"
#include "report/run_directory.h"
#include "report/terminal_text.h"
#include "roles/beginning.h"
#include "roles/roles.h"
#include "roles/run_lock.h"
#include "roles/signals.h"

namespace steelyard {
namespace {

constexpr Duration farewell = std::chrono::seconds(5);  // for the others to end after the scheduler

RunDirectory run_directory(const TrainCommand& command, const Job& job) {
  if (command.resume) return RunDirectory::open(command.run_directory);
  if (!command.run_directory.empty()) return RunDirectory::create(command.run_directory);
  return RunDirectory::next("runs", job.name);
}

std::vector<Supervision::Process> processes(const JobFile& file) {
  std::vector<Supervision::Process> all{{"scheduler", Role::scheduler, "the scheduler"}};
  for (std::uint32_t i = 0; i < file.servers; ++i)
    all.push_back({"server-" + std::to_string(i), Role::shard, "process 'server-" + std::to_string(i) + "'"});
  for (const WorkerSpec& worker : file.worker_specs)
    all.push_back({worker.name, Role::worker, "process '" + worker.name + "'"});
  return all;
}

// The cluster: knows how each process is started, for the first time and again.
class Cluster {
 public:
  Cluster(const TrainCommand& command, const JobFile& file, const RunDirectory& run, const RunLock& lock)
      : command_(command), file_(file), run_(run), lock_(lock), supervision_(processes(file), [&run] {
          return run.way_back();
        }) {}

  void start() {
    for (const Supervision::Process& it : processes(file_)) start(it.name);
  }
  // Watches until the scheduler has ended; returns the job's exit code.
  int supervise(const std::atomic<bool>& interrupted);

 private:
  void start(const std::string& name);
  void start_scheduler();
  void start_server(const std::string& name);
  void start_worker(const WorkerSpec& spec);
  Steps ended(const Child& child);
  std::optional<int> act(const Steps& steps);

  const TrainCommand& command_;
  const JobFile& file_;
  const RunDirectory& run_;
  const RunLock& lock_;
  const SocketDirectory sockets_;
  Supervision supervision_;
  Children children_;  // first to go
};

void Cluster::start(const std::string& name) {
  if (name == "scheduler") return start_scheduler();
  for (const WorkerSpec& spec : file_.worker_specs) {
    if (spec.name == name) return start_worker(spec);
  }
  start_server(name);
}

void Cluster::start_scheduler() {
  std::vector<std::string> arguments{
      "scheduler", run_.job(),        "--listen",       sockets_.endpoint("scheduler"),    "--run-dir",
      run_.path(), "--run-dir-ready", "--run-dir-lock", std::to_string(lock_.descriptor())};
  if (command_.resume) arguments.emplace_back("--resume");
  if (!command_.resume_from.empty())
    arguments.insert(arguments.end(), {"--resume-from", command_.resume_from});
  if (command_.quiet) arguments.emplace_back("--quiet");
  children_.start("scheduler", arguments, "", lock_.descriptor());
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
  children_.start(
      spec.name,
      {"worker", "--scheduler", sockets_.endpoint("scheduler"), "--name", spec.name, "--device", spec.device,
       "--slow", spec.slow, "--cpu", spec.cpu, "--max-batch", std::to_string(spec.max_batch)},
      run_.log(spec.name));
}

int Cluster::supervise(const std::atomic<bool>& interrupted) {
  while (true) {
    Steps steps;
    if (interrupted) steps.add(supervision_.interrupted());
    for (const Child& child : children_.ended()) steps.add(ended(child));
    steps.add(supervision_.wake(steady_now()));
    if (const auto code = act(steps)) return *code;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Steps Cluster::ended(const Child& child) {
  // A scheduler that was killed has told nobody to end: the others are not waited for.
  if (child.name == "scheduler" && WIFEXITED(*child.status)) children_.wait_all(farewell);
  std::string words = "; its log is " + child.log + "\n" + last_lines(child.log, 5);
  words.pop_back();
  return supervision_.ended(steady_now(), child.name, *child.status, words);
}

// The job's exit code once it is over.
std::optional<int> Cluster::act(const Steps& steps) {
  for (const std::string& text : steps.says)
    std::fprintf(stderr, "steelyard: %s\n", shown_lines(text).c_str());
  if (steps.code) return steps.code;
  for (const std::string& name : steps.starts) start(name);
  if (steps.tell) children_.signal("scheduler", somebody_is_gone);
  if (steps.end) children_.signal("scheduler", SIGTERM);
  return std::nullopt;
}

}  // namespace

int run_train(const TrainCommand& command, const Extensions& extensions) {
  JobFile file = read_job_file(command.job_file, command.overrides, extensions);
  // Every mistake that can be found is found here, before anything is started.
  Job job = file.job;
  SampleSource source;
  {
    const Workload workload = workload_of(job, extensions);
    complete(job, workload, extensions);
    source = sample_source(job, workload.data);
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
  const RunLock lock(run.path());
  const std::vector<std::string> there = list_checkpoints(run.checkpoints());
  if (command.resume && command.resume_from.empty() && !there.empty()) check(there.front());
  write_text(run.job(), file.resolved);
  std::atomic<bool> interrupted = false;
  const SignalWatch signals([&](int) { interrupted = true; },
                            {"Ctrl-C again ends at once", [&] { return run.way_back(); }});
  setenv("OMP_NUM_THREADS", "1", 1);  // one computing thread a worker, also inside oneDNN
  Cluster cluster(command, file, run, lock);
  cluster.start();
  return cluster.supervise(interrupted);
}

}  // namespace steelyard
