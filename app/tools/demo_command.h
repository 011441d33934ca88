// `steelyard demo`: compares equal with balanced shares on three unequal workers, with data that comes with
// the program. Needs no file, network or root.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct DemoCommand {
  std::vector<std::string> overrides;  // key=value, of the job
  std::string run_directory;           // empty: runs/demo-N
  std::string web;                     // CompareCommand::web
  bool open = false;                   // shows the page of the results in a browser
};

// Returns the exit code of `steelyard compare` on the job share/steelyard/jobs/digits.toml.
int run_demo(const DemoCommand& command);

}  // namespace steelyard
