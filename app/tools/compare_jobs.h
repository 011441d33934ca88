// A job under many policies and sync modes: each run is `steelyard train`, or `steelyard run` of a script, as
// a person would start it, a cluster of processes with a run directory of its own, one after another.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "app/config/job_file.h"
#include "app/launch/launch_plan.h"
#include "app/report/compare/compared_runs.h"

namespace steelyard {

// Where what is compared lies, and what it says.
struct ComparedJob {
  std::string path;                    // of the file as it was when the comparison began
  std::vector<std::string> overrides;  // --set of the command line
  JobFile file;
  std::optional<ScriptOptions> script{};  // in the place of a job file
};

// Runs go to `directory`/<contender>-<repeat>, with what the processes said in a .log beside it. Repeat r has
// seed `seed` + r. When `interrupted` becomes true the cluster at hand is told to end, as by Ctrl-C, and
// waited for; the kernel ends it if this process dies.
//
// The best device alone is the worker that computed the most samples a second in the first repeat. With a
// script there is none.
Contest job_contest(const ComparedJob& job, const std::string& directory, std::uint64_t seed,
                    const std::atomic<bool>& interrupted);

// The contenders that cannot run because the set-up is wrong, with the reason: told before anything long
// begins. Throws Failure if the job itself is wrong, or if only the baseline is left.
std::vector<std::string> refusals(const ComparedJob& job, const std::vector<Contender>& contenders);

}  // namespace steelyard
