// `steelyard plan`: is it worth adding this machine? Short trials measure every worker and its line, the
// simulator tries the ways in which they could train, and one more trial tells how near it was.
#pragma once

#include <string>
#include <vector>

#include "app/config/extensions.h"
#include "app/launch/launch_settings.h"

namespace steelyard {

struct PlanCommand {
  std::string hosts_file, job_file;
  std::vector<std::string> overrides;  // key=value
  std::vector<std::string> without;    // workers
  std::vector<std::string> added;      // NAME=LIKE, NAME=LIKE*SPEED
  std::string measured;                // a file of an earlier plan; empty: trials
  std::string output;                  // a file for what was measured, or - for standard output; empty: none
  std::string run_directory;           // empty: runs/plan-<name>-N
  std::string exchange = exchanges.front();  // of trials, as launch takes it
  double seconds = 0;                        // of one trial; 0: all of them take about a minute
  bool check = true;
};

int run_plan(const PlanCommand& command, const Extensions& extensions);

}  // namespace steelyard
