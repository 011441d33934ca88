// The cluster of a plan: starts the processes on their hosts, does what Supervision decides when they end,
// and shows what those on other hosts say.
#pragma once

#include <functional>
#include <string>

#include "app/launch/launch_plan.h"
#include "app/report/run_directory.h"

namespace steelyard {

// Until the job is over, and all processes and connections with it; the job's exit code. A script may go on
// after the job for as long as it likes, and if it fails then, the code is 1. Logs go to the run directory;
// `lock` is handed on to a scheduler that this very process starts. `way_back` as for Supervision.
int run_cluster(const LaunchPlan& plan, const RunDirectory& run, int lock, bool quiet,
                std::function<std::string()> way_back, const std::function<bool()>& interrupted);

}  // namespace steelyard
