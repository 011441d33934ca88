// `steelyard inspect`: shows the contents of a run, a checkpoint or a safetensors file. Reads every byte and
// checks its hash; a damaged checkpoint is an error with the name of the file.
#pragma once

#include <string>

namespace steelyard {

struct InspectCommand {
  std::string path;  // a run, a checkpoint or a safetensors file
  std::string json;  // a file for the same facts, or - for standard output; empty: none
};

void run_inspect(const InspectCommand& command);

}  // namespace steelyard
