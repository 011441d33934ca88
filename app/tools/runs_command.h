// `steelyard runs`: a table of the runs in a folder.
#pragma once

#include <string>
#include <vector>

#include "app/report/run/run_record.h"

namespace steelyard {

struct RunsCommand {
  std::string folder = "runs";
  std::string json;  // a file for the same facts, or - for standard output; empty: none
};
void run_runs(const RunsCommand& command);

// These throw Failure (io) if the folder cannot be read.
std::vector<std::string> runs_in(const std::string& folder);  // directories of runs, in natural order
std::string newest_run(const std::string& folder);            // written to last; Failure (usage) without runs

// "running", "stopped", or the outcome in result.json.
std::string state_of(const std::string& run, const RunResult& result);

struct ListedRun {
  ReportedRun run;  // with `state`, without its rounds
  bool has_checkpoint = false;
};
// The lines of a table, each followed by the command that resumes the run, if it can be resumed. Pure.
std::string runs_table(const std::vector<ListedRun>& runs);
std::string runs_json(const std::vector<ListedRun>& runs);

}  // namespace steelyard
