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

// `steelyard attend`: what `launch` runs on each host. It starts roles as it is told on its standard input,
// passes on what they say, and ends them when that input ends: nothing outlives the launcher, whether it goes
// in good order, is killed, or its connection breaks.
//
// At the end the scheduler, if it is here, is asked to end, and the others wait for it to tell them; who is
// still there after ten seconds is asked as well, and five seconds later killed. People need not know this
// command; the words are in app/launch/pipes.h.
int run_attend(const AttendOptions& options);

}  // namespace steelyard
