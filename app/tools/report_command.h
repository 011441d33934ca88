// `steelyard report`: runs as one page.
#pragma once

#include <string>
#include <vector>

#include "app/config/extensions.h"

namespace steelyard {

struct ReportCommand {
  std::vector<std::string> runs;  // directories
  std::string output;             // a file, or - for standard output; empty: report.html in the first run
};

// The process's exit code. Throws Failure for a directory without a run, and if the page cannot be written.
int run_report(const ReportCommand& command, const Extensions& extensions);

}  // namespace steelyard
