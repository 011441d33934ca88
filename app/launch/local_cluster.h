// Runs the cluster of a plan: starts the processes on their hosts, carries out what Supervision decides when
// they exit, and shows the output of processes on other hosts.
#pragma once

#include <functional>
#include <string>

#include "app/launch/launch_plan.h"
#include "app/report/run_directory.h"

namespace steelyard {

// Each is called often, on the thread of run_cluster().
struct Requests {
  std::function<bool()> interrupted;  // end the job, or this task of it
  std::function<bool()> save;         // save a checkpoint; true once for each request
  std::function<bool()> lost{};       // the job is lost for this task: kill its processes
};

// Returns when the job is done and all processes have exited; the result is the job's exit code. A script may
// run on after the job without limit; if it fails then, the code is 1. Logs go to the run directory; a
// scheduler that this process starts inherits `lock`. `way_back` as for Supervision.
int run_cluster(const LaunchPlan& plan, const RunDirectory& run, int lock, bool quiet,
                std::function<std::string()> way_back, const Requests& requests);

}  // namespace steelyard
