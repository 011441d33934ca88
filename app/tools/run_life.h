// Whether a run in a directory still trains, and whether another run continues its job.
#pragma once

#include <set>
#include <string>

#include "app/report/run/run_record.h"

namespace steelyard {

// The runs that a standby continues, by the notes of standbys in this folder: absolute paths.
std::set<std::string> continued_runs(const std::string& folder);

// `continued`: of the folder that contains the run.
RunLife life_of(const std::string& run, const std::set<std::string>& continued);
RunLife life_of(const std::string& run);

// Reads its directory, and finds out whether it trains. Throws Failure (configuration) if there is no run.
ReportedRun read_living_run(const std::string& path);

}  // namespace steelyard
