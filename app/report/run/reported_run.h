// A run directory (app/report/run_directory.h) as its report needs it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/report/run/finding.h"
#include "app/report/run/run_record.h"

namespace steelyard {

struct ReportedRun {
  std::string path;
  std::string name, about;   // of the job; what it trains, in a line
  std::string policy, sync;  // empty: not known
  std::string job;           // job.toml
  std::string trouble;       // why it is not understood; empty: it is
  RunTerms terms;
  std::uint64_t epochs = 0, rounds = 0;  // after which the job ends; 0: no limit
  double seconds = 0;                    // likewise
  RunRecord record;
};

// The last part of its path, if no other of these runs has the same; otherwise all of it.
std::string short_path(const ReportedRun& run, const std::vector<ReportedRun>& among);

// Of what is in memory; pure. A job.toml that this program does not understand, of another release or with a
// user's own models, costs what only the job tells.
ReportedRun reported_run(const std::string& path, const std::string& job, RunRecord record);

// From its directory; it may be under way. Throws Failure (configuration) where there is no run.
ReportedRun read_run(const std::string& path);

}  // namespace steelyard
