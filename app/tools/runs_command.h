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

struct ListedRun {
  ReportedRun run;  // with its life, without its rounds
  bool has_checkpoint = false;
};
// The lines of a table, each followed by the command that resumes the run, if it can be resumed. Pure.
// `width`: as of aligned_lines().
std::string runs_table(const std::vector<ListedRun>& runs, std::size_t width = 0);
std::string runs_json(const std::vector<ListedRun>& runs);

}  // namespace steelyard
