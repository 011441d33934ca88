// `steelyard plan`: finds the fastest workers and sync mode. Short trials measure every worker and its link,
// the simulator predicts the speed of each candidate, and one more trial checks the best prediction.
#pragma once

#include <string>
#include <vector>

#include "app/launch/launch_plan.h"

namespace steelyard {

struct PlanCommand {
  std::string hosts_file, job_file;
  std::vector<std::string> overrides;  // key=value
  std::vector<std::string> without;    // workers
  std::vector<std::string> added;      // NAME=LIKE, NAME=LIKE*SPEED
  std::string measured;                // a file of an earlier plan; empty: run trials
  std::string output;                  // a file for the measurements, or - for standard output; empty: none
  std::string json;           // a file for the facts of the plan, or - for standard output; empty: none
  std::string run_directory;  // empty: runs/plan-<name>-N
  std::string exchange = exchanges.front();  // of trials, as for launch
  double seconds = 0;                        // length of one trial; 0: all trials take about a minute
  bool check = true;
};

void run_plan(const PlanCommand& command);

}  // namespace steelyard
