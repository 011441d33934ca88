// What those are told who start a whole cluster, here or on many machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "roles/options.h"

namespace steelyard {

struct LaunchOptions {
  std::optional<std::string> hosts_file;  // none: all on this machine, as `train` does
  std::string job_file;
  std::vector<std::string> overrides;  // key=value
  ResultOptions results;               // on the scheduler's host
  std::string exchange = exchanges.front();
  bool quiet = false;
  bool insecure = false;
  bool dry_run = false;
};

struct AttendOptions {
  std::string directory;  // empty: where it is
  double silence = 300;   // seconds without a word from the launcher until it counts as gone
};

}  // namespace steelyard
