// What those are told who start a whole cluster, here or on many machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/processes/process_settings.h"

namespace steelyard {

// Workers that are a program of the user, in the place of a job file (app/launch/user_script.h).
struct ScriptOptions {
  std::string path;                    // empty: the workers come by themselves
  std::vector<std::string> arguments;  // its own
  unsigned workers = 1;                // on this machine; those of `launch` are in the hosts file
  std::string sockets;                 // the directory in which processes of this machine find each other
};

struct LaunchOptions {
  std::optional<std::string> hosts_file;  // none: all on this machine, as `train` does
  std::string job_file;
  std::optional<ScriptOptions> script;
  std::vector<std::string> overrides;  // key=value
  ResultOptions results;               // on the scheduler's host
  std::string exchange = exchanges.front();
  bool trace = false;  // on one machine: the run has a timeline
  bool quiet = false;
  bool insecure = false;
  bool dry_run = false;
};

struct AttendOptions {
  std::string directory;  // empty: where it is
  double silence = 300;   // seconds without a word from the launcher until it counts as gone
};

}  // namespace steelyard
