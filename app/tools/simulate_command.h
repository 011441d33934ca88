// `steelyard simulate`: a scenario in virtual time, for people and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "sim/scenario_result.h"

namespace steelyard {

// `steelyard replay`: a recorded run again in virtual time: as it was, under other policies, or without some
// of its workers (app/config/device_files.h).
struct ReplayCommand {
  std::string run;                   // its directory
  std::string policies, sync;        // comma-separated; empty: the run's own
  std::vector<std::string> without;  // workers
  std::string output;                // a file for the scenario, or - for standard output; empty: none
};

void run_replay(const ReplayCommand& command);

struct SimulateCommand {
  std::string scenario_file;
  std::vector<std::string> overrides;  // key=value
  std::string policy, sync;            // empty: as the scenario says
  std::optional<std::uint64_t> seed;
  std::string json;  // a file, or - for standard output; empty: none
};

// Throws Failure for a scenario that cannot be read or simulated, or a
// file that cannot be written.
void run_simulate(const SimulateCommand& command);

// Says on standard error what is simulated otherwise than it is written.
void tell_notes(const sim::Scenario& scenario);

// What simulate prints: no line of it is wider than 80 columns, unless a name is.
std::string simulation_summary(const sim::Result& result);

}  // namespace steelyard
