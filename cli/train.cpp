#include "cli/train.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cli/children.h"
#include "cli/job_file.h"
#include "cli/prepare_job.h"
#include "cli/run_directory.h"
#include "cli/signals.h"
#include "core/error.h"

namespace steelyard {
namespace {

// A directory for sockets that only this user can enter; gone when the run is over.
class SocketDirectory {
 public:
  SocketDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "steelyard-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Failure(ExitCode::io, "cannot make a directory for sockets at " + pattern +
                                      ": set TMPDIR to one that is writable");
    }
    path_ = pattern;
  }
  ~SocketDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  SocketDirectory(const SocketDirectory&) = delete;
  SocketDirectory& operator=(const SocketDirectory&) = delete;

  [[nodiscard]] std::string endpoint(const std::string& name) const { return "ipc://" + path_ + "/" + name; }

 private:
  std::string path_;
};

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

void start_all(Children& children, const TrainCommand& command, const JobFile& file, const RunDirectory& run,
               const SocketDirectory& sockets) {
  std::vector<std::string> scheduler{"scheduler", run.job(),  "--listen",       sockets.endpoint("scheduler"),
                                     "--run-dir", run.path(), "--run-dir-ready"};
  if (command.resume) scheduler.emplace_back("--resume");
  if (!command.resume_from.empty()) scheduler.insert(scheduler.end(), {"--resume-from", command.resume_from});
  if (command.quiet) scheduler.emplace_back("--quiet");
  children.start("scheduler", scheduler, "");
  const unsigned shards = file.job.shards / file.servers;
  for (std::uint32_t i = 0; i < file.servers; ++i) {
    const std::string name = "server-" + std::to_string(i);
    std::vector<std::string> server{"server",
                                    "--scheduler",
                                    sockets.endpoint("scheduler"),
                                    "--name",
                                    name,
                                    "--listen",
                                    shards == 1 ? sockets.endpoint(name) : "tcp://127.0.0.1:*",
                                    "--shards",
                                    std::to_string(shards)};
    children.start(name, server, run.log(name));
  }
  for (const WorkerSpec& spec : file.worker_specs) {
    children.start(spec.name,
                   {"worker", "--scheduler", sockets.endpoint("scheduler"), "--name", spec.name, "--device",
                    spec.device, "--slow", std::to_string(spec.slow), "--most", std::to_string(spec.most)},
                   run.log(spec.name));
  }
}

void tell(const Child& child) {
  std::fprintf(stderr, "steelyard: process '%s' %s; its log is %s\n%s", child.name.c_str(),
               describe_status(*child.status).c_str(), child.log.c_str(), last_lines(child.log, 5).c_str());
}

// Watches until the scheduler has ended; the code is its own.
int supervise(Children& children, const JobFile& file, const std::atomic<bool>& interrupted) {
  std::size_t workers = file.worker_specs.size();
  bool asked = false;
  while (true) {
    if (interrupted && !std::exchange(asked, true)) children.signal("scheduler", SIGTERM);
    for (const Child& child : children.ended()) {
      if (child.name == "scheduler") {
        if (WIFEXITED(*child.status)) return WEXITSTATUS(*child.status);
        std::fprintf(stderr, "steelyard: the scheduler %s; resume from the last checkpoint with --resume\n",
                     describe_status(*child.status).c_str());
        return static_cast<int>(ExitCode::unreachable);
      }
      const bool orderly = WIFEXITED(*child.status) && WEXITSTATUS(*child.status) == 0;
      if (orderly || asked) continue;
      tell(child);
      const bool is_worker =
          std::ranges::any_of(file.worker_specs, [&](const auto& w) { return w.name == child.name; });
      if (is_worker && --workers == 0) {
        std::fprintf(stderr, "steelyard: no worker is left; ending the job\n");
        children.signal("scheduler", SIGTERM);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

int run_train(const TrainCommand& command, const Extensions& extensions) {
  JobFile file = read_job_file(command.job_file, command.overrides);
  {
    // Every mistake that can be found is found here, before anything is started.
    Job job = file.job;
    complete(job, prepare(job, extensions));
  }
  const RunDirectory run = run_directory(command, file.job);
  write_text(run.job(), file.resolved);
  const SocketDirectory sockets;
  std::atomic<bool> interrupted = false;
  const SignalWatch signals([&](int) { interrupted = true; });
  setenv("OMP_NUM_THREADS", "1", 1);  // one computing thread a worker, also inside oneDNN
  Children children;
  start_all(children, command, file, run, sockets);
  const int code = supervise(children, file, interrupted);
  children.wait_all(std::chrono::seconds(5));
  return code;
}

}  // namespace steelyard
