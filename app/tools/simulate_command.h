// `steelyard simulate`: runs a scenario in virtual time; prints a summary or JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "sim/scenario_result.h"

namespace steelyard {

// `steelyard replay`: simulates a recorded run: as it was, under other policies, or without some of its
// workers (app/config/device_files.h).
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
  std::string policy, sync;            // empty: the scenario's
  std::optional<std::uint64_t> seed;
  std::string json;  // a file, or - for standard output; empty: none
};

// Throws Failure if the scenario cannot be read or simulated, or a file cannot be written.
void run_simulate(const SimulateCommand& command);

// Prints notes on standard error about parts of the scenario that the simulation handles differently.
void tell_notes(const sim::Scenario& scenario);

// The summary that simulate prints, in lines of at most 80 columns, except for longer names.
std::string simulation_summary(const sim::Result& result);

}  // namespace steelyard
