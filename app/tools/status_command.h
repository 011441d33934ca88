// `steelyard status`, `steelyard top` and `steelyard report`: the state of a run, from its directory.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

// `steelyard report`: writes one page on one or several runs.
struct ReportCommand {
  std::vector<std::string> runs;  // directories
  std::string output;             // a file, or - for standard output; empty: report.html in the first run
};

// Throws Failure if a directory is not a run, or the page cannot be written.
void run_report(const ReportCommand& command);

struct StatusCommand {
  std::string run;   // a directory, or HOST:PORT of a running job; empty: the run in runs/ written to last
  std::string json;  // a file for the same facts, or - for standard output; empty: none
};

// `steelyard top`: the same again and again, until the run ends.
struct TopCommand {
  std::string run;   // as above
  double every = 1;  // seconds
};

// Throw Failure if a directory is not a run.
void run_status(const StatusCommand& command);
void run_top(const TopCommand& command);

}  // namespace steelyard
