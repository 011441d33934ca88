// Compares a job under several policies and sync modes. Each run is a `steelyard train`, or a `steelyard run`
// of a script, with its own cluster of processes and run directory, one after another.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "app/config/job_file.h"
#include "app/launch/launch_plan.h"
#include "app/report/compare/compared_runs.h"

namespace steelyard {

// The job to compare.
struct ComparedJob {
  std::string path;                    // of a copy made when the comparison began
  std::vector<std::string> overrides;  // --set of the command line
  JobFile file;
  std::string web;                        // CompareCommand::web
  std::optional<ScriptOptions> script{};  // instead of a job file
};

// Runs go to `directory`/<contender>-<repeat>, with their output in a .log file next to it. Repeat r has seed
// `seed` + r. When `interrupted` becomes true, the current cluster gets SIGINT, like Ctrl-C, and is waited
// for; the kernel stops it if this process exits.
//
// The best device alone is the worker with the most samples per second in the first repeat; a script has
// none.
Contest job_contest(const ComparedJob& job, const std::string& directory, std::uint64_t seed,
                    const std::atomic<bool>& interrupted);

// The contenders that cannot run because of their configuration, with the reason, found before any run
// starts. Throws Failure if the job itself is wrong, or if only the baseline is left.
std::vector<std::string> refusals(const ComparedJob& job, const std::vector<Contender>& contenders);

}  // namespace steelyard
