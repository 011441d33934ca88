// The command line, understood: which command, with which options. CLI11 stays in the .cpp.
#pragma once

#include <optional>
#include <string>
#include <variant>
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

struct SchedulerCommand {
  std::string job_file;
  std::vector<std::string> overrides;
  std::string listen = "127.0.0.1:7070";
  std::string run_directory;
  bool run_directory_ready = false;  // `train` has made it
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
};

struct WorkerCommand {
  std::string scheduler;
  std::string name;
  std::string device = "cpu";
  std::string job_file;
  std::vector<std::string> data_options;  // key=value, replacing the job's
  double slow = 1;
  std::uint64_t most = 0;
  double wait = 60;
};

struct SimulateCommand {
  std::string scenario_file;
  std::string policy, sync;  // empty: as the scenario says
  std::optional<std::uint64_t> seed;
  std::string json;  // a file, or - for standard output; empty: none
};

struct CompareCommand {
  std::vector<std::string> scenario_files;
  std::string policies;  // comma-separated; empty: all
  std::string sync;      // empty: as the scenarios say
  std::optional<std::uint64_t> seed;
  std::string json;
};

struct TextCommand {  // help and versions: to standard output
  std::string text;
};

using Command = std::variant<TrainCommand, SchedulerCommand, ServerCommand, WorkerCommand, SimulateCommand,
                             CompareCommand, TextCommand>;

// Throws Failure (usage) for what cannot be understood.
Command read_command_line(int argc, const char* const* argv);

std::string version_text();

}  // namespace steelyard
