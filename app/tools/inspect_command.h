// `steelyard inspect`: shows the contents of a run, a checkpoint or a safetensors file. Reads every byte and
// checks its hash; a damaged checkpoint is an error with the name of the file.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

// `steelyard trace`: merges the traces of all nodes of a job into one timeline (app/report/timeline.h).
struct TraceCommand {
  std::vector<std::string> paths;
  std::string output = "timeline.json";  // a file, or - for standard output
};

void run_trace(const TraceCommand& command);

struct InspectCommand {
  std::string path;  // a run, a checkpoint or a safetensors file
};

void run_inspect(const InspectCommand& command);

}  // namespace steelyard
