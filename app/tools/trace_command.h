// `steelyard trace`: merges the traces of all nodes of a job into one timeline (app/report/timeline.h).
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct TraceCommand {
  std::vector<std::string> paths;
  std::string output = "timeline.json";  // a file, or - for standard output
};

void run_trace(const TraceCommand& command);

}  // namespace steelyard
