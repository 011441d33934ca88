// `steelyard simulate` and `steelyard compare`: scenarios in virtual time, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "sim/result.h"

namespace steelyard {

// Each returns the process's exit code. Throws Failure for a scenario that cannot be read or simulated, or a
// file that cannot be written.
int run_simulate(const SimulateCommand& command);
int run_compare(const CompareCommand& command);

// What simulate prints.
std::string simulation_summary(const sim::Result& result);

// One scenario under several policies, on the same draws.
struct Comparison {
  std::vector<sim::Result> results;  // one a policy
  double equal_s = 0;                // of `equal`
  std::string best_device;           // the best worker alone; empty: nobody is there all the time
  double alone_s = 0;                // of that one
};
std::string comparison_table(const Comparison& comparison);
std::string comparison_json(const std::vector<Comparison>& comparisons);

}  // namespace steelyard
