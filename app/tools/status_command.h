// `steelyard status` and `steelyard runs`: where runs stand, from their directories.
#pragma once

#include <string>

#include "app/config/extensions.h"

namespace steelyard {

struct StatusCommand {
  std::string run;  // a directory; empty: of runs/, the one that wrote last
};

struct RunsCommand {
  std::string folder = "runs";
};

// The process's exit code. Both throw Failure for a directory without a run.
int run_status(const StatusCommand& command, const Extensions& extensions);
int run_runs(const RunsCommand& command);

}  // namespace steelyard
