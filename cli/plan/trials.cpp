#include "cli/plan/trials.h"

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "cli/compare/job.h"
#include "core/error.h"
#include "core/text.h"
#include "launch/children.h"
#include "launch/pipes.h"
#include "report/run_directory.h"

namespace steelyard {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Trials::Trials(std::string directory, HostsFile hosts, std::string job, std::vector<std::string> options,
               const std::atomic<bool>& interrupted)
    : directory_(std::move(directory)),
      hosts_(std::move(hosts)),
      job_(std::move(job)),
      options_(std::move(options)),
      interrupted_(interrupted) {}

RunRecord Trials::run(const std::string& name, const std::vector<std::string>& workers, double seconds,
                      const std::vector<std::string>& settings) const {
  const std::string run = directory_ + "/" + name, hosts = run + ".toml", log = run + ".log";
  write_text(hosts, hosts_text(with_workers(hosts_, workers)));
  std::vector<std::string> words{"launch", hosts, job_, "--run-dir", run, "--quiet"};
  words.insert(words.end(), options_.begin(), options_.end());
  const std::vector<std::string> ours{"train.seconds=" + number_text(seconds), "train.evaluate_every=0",
                                      "train.checkpoint_every=0", "train.target_accuracy=0"};
  for (const auto& list : {settings, ours})
    for (const std::string& setting : list) words.insert(words.end(), {"--set", setting});
  const Descriptor out = log_to_write(log);
  Children children;
  children.start("trial", {.path = {}, .arguments = words, .out = out.number(), .error = out.number()});
  int status = 0;
  for (bool ended = false, told = false; !ended;) {
    if (interrupted_ && !std::exchange(told, true)) children.signal("trial", SIGINT);
    for (const Child& child : children.ended()) status = *child.status, ended = true;
    if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (interrupted_) throw Failure(ExitCode::temporary, "interrupted: no plan was made");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string complaint = complaint_in(text_of(log));
    throw Failure(WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : ExitCode::failed,
                  "trial " + name + ": " +
                      (complaint.empty() ? "the cluster " + describe_status(status) : complaint) + "; see " +
                      log);
  }
  return run_record(text_of(run + "/rounds.jsonl"), "", "");
}

}  // namespace steelyard
