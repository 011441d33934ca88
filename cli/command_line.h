// The command line, understood: which command, with which options. CLI11 stays in the .cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/extensions.h"

namespace steelyard {

struct TrainCommand {
  std::string job_file;
  std::vector<std::string> overrides;  // key=value
  std::string run_directory;           // empty: runs/<name>-N
  bool resume = false;                 // from the newest checkpoint of the run directory
  std::string resume_from;             // or from this checkpoint
  bool quiet = false;
};

struct SchedulerCommand {
  std::string job_file;
  std::vector<std::string> overrides;
  std::string listen = "127.0.0.1:7070";
  std::string run_directory;
  bool run_directory_ready = false;  // `train` has made it
  int run_directory_lock = -1;       // and has its lock under this number (cli/run_lock.h)
  bool resume = false;
  std::string resume_from;
  bool insecure = false;
  bool quiet = false;
};

struct ServerCommand {
  std::string scheduler;
  std::string listen = "127.0.0.1:*";
  std::string advertise;  // host under which workers reach it; empty: found out
  std::string name;
  std::string job_file;  // optional: refuse any other job
  unsigned shards = 1;
  double wait = 60;
  bool insecure = false;
  bool quiet = false;
};

struct WorkerCommand {
  std::string scheduler;
  std::string name;
  std::string device = "cpu";
  std::string job_file;
  std::vector<std::string> data_options;  // key=value, replacing the job's
  std::string slow = "1", cpu = "1";      // a Throttle
  std::uint64_t most = 0;
  double wait = 60;
  bool quiet = false;
};

struct SimulateCommand {
  std::string scenario_file;
  std::string policy, sync;  // empty: as the scenario says
  std::optional<std::uint64_t> seed;
  std::string json;  // a file, or - for standard output; empty: none
};

struct CompareCommand {
  std::vector<std::string> files;      // jobs and scenarios
  std::vector<std::string> overrides;  // key=value, of jobs
  std::string policies;                // comma-separated; empty: all
  std::string sync;                    // likewise; empty: as the file says
  std::uint64_t repeats = 1;
  std::optional<double> target;       // accuracy; default: the job's target_accuracy
  std::optional<std::uint64_t> seed;  // default: the file's
  std::string run_directory;          // of a job; empty: runs/compare-<name>-N
  std::string json, html;             // files, or - for standard output; empty: only in the run directory
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

struct ProfileCommand {
  std::string job_file;  // empty: the defaults of a job
  std::vector<std::string> overrides;
  std::string device = "cpu";
  std::string model, data;  // empty: as the job says
  std::string name;         // of this machine; empty: its host name
  unsigned workers = 0;     // 0: as many as processors
  std::uint64_t most = 512;
  unsigned repeats = 9;
  std::string output;
  bool quiet = false;
};

struct TextCommand {  // help and versions: to standard output
  std::string text;
};

using Command = std::variant<TrainCommand, SchedulerCommand, ServerCommand, WorkerCommand, SimulateCommand,
                             CompareCommand, LaunchCommand, AttendCommand, ProfileCommand, TextCommand>;

// Throws Failure (usage) for what cannot be understood. The help tells of a user's own models and policies
// too.
Command read_command_line(int argc, const char* const* argv, const Extensions& extensions = {});

}  // namespace steelyard
