// `steelyard trace`: the traces of all nodes of a job as one timeline (app/report/timeline.h).
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct TraceCommand {
  std::vector<std::string> paths;
  std::string output = "timeline.json";  // a file, or - for standard output
};

int run_trace(const TraceCommand& command);

}  // namespace steelyard
