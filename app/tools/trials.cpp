#include "app/tools/trials.h"

#include <utility>

#include "app/tools/child_run.h"
#include "core/error.h"
#include "core/text.h"
#include "app/launch/children.h"
#include "app/report/run_directory.h"

namespace steelyard {
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
  const ChildEnd end = run_child(words, log, interrupted_);
  if (interrupted_) throw Failure(ExitCode::temporary, "interrupted: no plan was made");
  if (end.code() != 0) {
    throw Failure(end.code() > 0 ? static_cast<ExitCode>(end.code()) : ExitCode::failed,
                  "trial " + name + ": " +
                      (end.complaint.empty() ? "the cluster " + describe_status(end.status) : end.complaint) +
                      "; see " + log);
  }
  return run_record(read_text(run + "/rounds.jsonl"), "", "");
}

}  // namespace steelyard
