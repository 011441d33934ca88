// `steelyard inspect`: what is in a run, a checkpoint or a safetensors file. Reads every byte and says
// whether its hash is right; a damaged checkpoint is an error that names the file.
#pragma once

#include <string>

namespace steelyard {

struct InspectCommand {
  std::string path;  // a run, a checkpoint or a safetensors file
};

int run_inspect(const InspectCommand& command);

}  // namespace steelyard
