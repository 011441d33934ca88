// `steelyard launch`: a job on many hosts. Scheduler, servers and workers are started where a hosts file says
// (config/hosts_file.h), through one connection to each host, supervised, and never left behind.
//
// What each process says goes to a log of its own on this side, empty for one that says nothing; the
// scheduler's words are shown as they are, those of the others with their name and host before them. Where
// the scheduler runs on this machine, logs and results lie in one run directory; otherwise results are on
// the scheduler's host.
#pragma once

#include "config/extensions.h"
#include "launch/options.h"

namespace steelyard {

// The job's exit code, as `train` gives it.
int run_launch(const LaunchCommand& command, const Extensions& extensions);

}  // namespace steelyard
