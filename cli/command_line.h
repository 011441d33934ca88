// The command line, understood: which command, with which options. CLI11 stays in the .cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/extensions.h"
#include "launch/options.h"
#include "roles/options.h"

namespace steelyard {

// A role by hand.
template <class Options>
struct RoleCommand {
  std::string job_file;  // of a server or worker: the only one that it takes part in; empty: any
  std::vector<std::string> overrides;  // key=value, of the scheduler's
  Options options;
};
using SchedulerCommand = RoleCommand<SchedulerOptions>;
using ServerCommand = RoleCommand<ServerOptions>;
using WorkerCommand = RoleCommand<WorkerOptions>;

struct SimulateCommand {
  std::string scenario_file;
  std::vector<std::string> overrides;  // key=value
  std::string policy, sync;            // empty: as the scenario says
  std::optional<std::uint64_t> seed;
  std::string json;  // a file, or - for standard output; empty: none
};

struct CompareCommand {
  std::vector<std::string> files;      // jobs, scripts and scenarios
  std::vector<std::string> overrides;  // key=value
  std::string sweep;                   // key=value,value,...; empty: none
  unsigned workers = 2;                // of a script
  std::string policies;                // comma-separated; empty: all
  std::string sync;                    // likewise; empty: as the file says
  std::uint64_t repeats = 1;
  std::optional<double> target;       // accuracy; default: the job's target_accuracy
  std::optional<std::uint64_t> seed;  // default: the file's
  std::string run_directory;          // of a job; empty: runs/compare-<name>-N
  std::string json, html;             // files, or - for standard output; empty: only in the run directory
};

struct ProfileCommand {
  std::string job_file;  // empty: the defaults of a job
  std::vector<std::string> overrides;
  WorkerSpec computing;     // device, threads and precision of each worker
  std::string model, data;  // empty: as the job says
  std::string name;         // of this machine; empty: its host name
  unsigned workers = 0;     // 0: as many as processors have room for
  std::uint64_t max_batch = 512;
  unsigned repeats = 9;
  std::string output;
  bool quiet = false;
};

struct ReportCommand {
  std::vector<std::string> runs;  // directories
  std::string output;             // a file, or - for standard output; empty: report.html in the first run
};

struct StatusCommand {
  std::string run;  // a directory; empty: of runs/, the one that wrote last
};

struct RunsCommand {
  std::string folder = "runs";
};

struct DevicesCommand {
  std::string json;  // a file, or - for standard output; empty: none
};

struct ReplayCommand {
  std::string run;                   // its directory
  std::string policies, sync;        // comma-separated; empty: the run's own
  std::vector<std::string> without;  // workers
  std::string output;                // a file for the scenario, or - for standard output; empty: none
};

struct PlanCommand {
  std::string hosts_file, job_file;
  std::vector<std::string> overrides;  // key=value
  std::vector<std::string> without;    // workers
  std::vector<std::string> added;      // NAME=LIKE, NAME=LIKE*SPEED
  std::string measured;                // a file of an earlier plan; empty: trials
  std::string output;                  // a file for what was measured, or - for standard output; empty: none
  std::string run_directory;           // empty: runs/plan-<name>-N
  std::string exchange = exchanges.front();  // of trials, as launch takes it
  double seconds = 0;                        // of one trial; 0: all of them take about a minute
  bool check = true;
};

struct TraceCommand {
  std::vector<std::string> paths;
  std::string output = "timeline.json";  // a file, or - for standard output
};

struct JournalCommand {
  std::string run;                                                  // directory
  std::uint64_t until = std::numeric_limits<std::uint64_t>::max();  // number of the last record
};

struct InspectCommand {
  std::string path;  // a run, a checkpoint or a safetensors file
};

// A checkpoint to compute with, and what of its job is otherwise.
struct SavedOptions {
  std::string path;                    // of the checkpoint, or of a run: its newest
  std::string job_file;                // empty: the one of the run around it
  std::vector<std::string> overrides;  // key=value
  std::string data;                    // another data set than the job's; empty: none
};

struct EvalCommand {
  SavedOptions saved;
};

struct PredictCommand {
  SavedOptions saved;
  std::string input;         // an npy file, or archive.npz:array; empty: the job's test set
  std::string output = "-";  // a file, or - for standard output
};

struct KeysCommand {
  std::string action;  // new, add, revoke or list
  std::string directory;
  std::string role;  // of revoke: the name
  std::string name, key;
};

struct TextCommand {  // help and versions: to standard output
  std::string text;
};

using Command =
    std::variant<LaunchOptions, SchedulerCommand, StandbyOptions, ServerCommand, WorkerCommand,
                 SimulateCommand, CompareCommand, ReplayCommand, PlanCommand, ReportCommand, StatusCommand,
                 RunsCommand, AttendOptions, ProfileCommand, DevicesCommand, TraceCommand, JournalCommand,
                 InspectCommand, EvalCommand, PredictCommand, KeysCommand, TextCommand>;

// Throws Failure (usage) for what cannot be understood. The help tells of a user's own models and policies
// too.
Command read_command_line(int argc, const char* const* argv, const Extensions& extensions = {});

}  // namespace steelyard
