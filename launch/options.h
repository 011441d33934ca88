// What those are told who start a whole cluster, here or on many machines.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct TrainCommand {
  std::string job_file;
  std::vector<std::string> overrides;  // key=value
  std::string run_directory;           // empty: runs/<name>-N
  bool resume = false;                 // from the newest checkpoint of the run directory
  std::string resume_from;             // or from this checkpoint
  bool quiet = false;
};

struct LaunchCommand {
  std::string hosts_file, job_file;
  std::vector<std::string> overrides;
  std::string run_directory;  // on the scheduler's host
  bool resume = false;
  std::string resume_from;
  bool insecure = false;
  bool quiet = false;
  bool dry_run = false;
};

struct AttendCommand {
  std::string directory;  // empty: where it is
  double silence = 300;   // seconds without a word from the launcher until it counts as gone
};

}  // namespace steelyard
