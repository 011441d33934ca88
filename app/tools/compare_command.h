// `steelyard compare`: runs jobs, scripts and scenarios under several policies and sync modes with the same
// data, seeds and stop rule; the result is a table, JSON, and a page with charts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace steelyard {

struct CompareCommand {
  std::vector<std::string> files;      // jobs, scripts and scenarios
  std::vector<std::string> overrides;  // key=value
  std::string sweep;                   // key=value,value,...; empty: none
  unsigned workers = 2;                // of a script
  std::string policies;                // comma-separated; empty: all
  std::string sync;                    // likewise; empty: the file's
  std::uint64_t repeats = 1;
  std::optional<double> target;       // accuracy; default: the job's target_accuracy
  std::optional<std::uint64_t> seed;  // default: the file's
  std::string run_directory;          // for a job; empty: runs/compare-<name>-N
  std::string web;         // where each run of a job shows its page (app/web/place.h); empty: nowhere
  std::string json, html;  // files, or - for standard output; empty: only in the run directory
};

// Returns the exit code: 0, 1 if a run failed, 75 if interrupted. Throws Failure if a file cannot be read or
// compared at all.
int run_compare(const CompareCommand& command);

}  // namespace steelyard
