// `steelyard replay`: a recorded run again in virtual time: as it was, under other policies, or without some
// of its workers (app/config/recorded_scenario.h).
#pragma once

#include <string>
#include <vector>

#include "app/config/extensions.h"

namespace steelyard {

struct ReplayCommand {
  std::string run;                   // its directory
  std::string policies, sync;        // comma-separated; empty: the run's own
  std::vector<std::string> without;  // workers
  std::string output;                // a file for the scenario, or - for standard output; empty: none
};

int run_replay(const ReplayCommand& command, const Extensions& extensions);

}  // namespace steelyard
