// Short runs of a job on some of its hosts, each as a person would start it: `steelyard launch`.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "app/config/hosts_file.h"
#include "app/report/run/run_record.h"

namespace steelyard {

class Trials {
 public:
  // Runs go to `directory`/<name>, with the hosts they had in a .toml and what they said in a .log beside it.
  // `job` is a file; `options` those of `launch` that all runs have. When `interrupted` becomes true the run
  // at hand is told to end, and run() throws Failure (temporary).
  Trials(std::string directory, HostsFile hosts, std::string job, std::vector<std::string> options,
         const std::atomic<bool>& interrupted);

  // Trains for so many seconds without evaluation and checkpoints. Throws Failure for a run that failed, with
  // its reason.
  RunRecord run(const std::string& name, const std::vector<std::string>& workers, double seconds,
                const std::vector<std::string>& settings) const;

 private:
  const std::string directory_;
  const HostsFile hosts_;
  const std::string job_;
  const std::vector<std::string> options_;
  const std::atomic<bool>& interrupted_;
};

}  // namespace steelyard
