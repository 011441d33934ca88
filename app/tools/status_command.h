// `steelyard status` and `steelyard runs`: where runs stand, from their directories.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

// `steelyard report`: runs as one page.
struct ReportCommand {
  std::vector<std::string> runs;  // directories
  std::string output;             // a file, or - for standard output; empty: report.html in the first run
};

// Throws Failure for a directory without a run, and if the page cannot be written.
void run_report(const ReportCommand& command);

struct StatusCommand {
  std::string run;  // a directory; empty: of runs/, the one that wrote last
};

struct RunsCommand {
  std::string folder = "runs";
};

// Both throw Failure for a directory without a run.
void run_status(const StatusCommand& command);
void run_runs(const RunsCommand& command);

}  // namespace steelyard
