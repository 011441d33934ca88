// `steelyard train`, `run` and `launch`: a whole cluster, with a process for each role, started by a plan
// (app/launch/launch_plan.h), supervised (app/launch/supervision.h), and never left behind. `train` and `run`
// are launches on this machine alone. The workers of `run` are processes of a script
// (app/launch/user_script.h), or are started separately and connect to the sockets; a cluster of the second
// kind stops when its parent process exits. A script of `run` may join one job after the other
// (app/launch/further_jobs.h).
//
// The output of each process goes to its own log on this machine. `train`'s scheduler writes to the terminal
// itself. With roles on other hosts, the scheduler's output is shown unchanged, and that of other processes
// with name and host in front. Of a script only standard output is shown, with the worker's name if there are
// several; standard error goes to the log only. If the scheduler runs on this machine, logs and results are
// in one run directory; otherwise results are on the scheduler's host.
#pragma once

#include "app/launch/launch_plan.h"

namespace steelyard {

// Returns the job's exit code: the scheduler's, or the reason why the cluster failed.
int run_launch(const LaunchOptions& options);

// `steelyard attend`: the process that `launch` runs on each host. It reads commands from standard input,
// starts roles, forwards their output, and stops them when its input ends. So nothing outlives the launcher,
// whether that exits, is killed, or loses its connection.
//
// To stop, it sends SIGTERM to the scheduler, if that runs here; the other roles wait for the scheduler's
// message. After ten seconds it sends SIGTERM to the remaining ones, and five seconds later it kills them.
// With `grace` 0 it kills all at once: of an actor of Ray or Dask that was killed nothing may be left when
// the next one takes its place.
// The command is internal; its messages are in app/launch/pipes.h.
int run_attend(const AttendOptions& options);

}  // namespace steelyard
