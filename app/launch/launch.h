// `steelyard train`, `run` and `launch`: a whole cluster, each role a process of its own, started as a plan
// says (app/launch/launch_plan.h), supervised (app/launch/supervision.h), and never left behind. `train` and
// `run` are launches on this machine alone. The workers of `run` are processes of a script
// (app/launch/user_script.h), or they come by themselves to where the sockets are: such a cluster ends when
// its parent process does.
//
// What each process says goes to a log of its own on this side. `train`'s scheduler has the terminal itself;
// where the roles are on other hosts, the scheduler's words are shown as they are and those of the others
// with their name and host before them. Of a script only what it prints is shown, with the worker's name if
// there are several; its errors are in its log. Where the scheduler runs on this machine, logs and results
// lie in one run directory; otherwise results are on the scheduler's host.
#pragma once

#include "app/launch/launch_plan.h"

namespace steelyard {

// The job's exit code: the scheduler's, or why the cluster could not be kept up.
int run_launch(const LaunchOptions& options);

}  // namespace steelyard
