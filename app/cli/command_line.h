// The command line, understood: which command, with which options. CLI11 stays in the .cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/launch/launch_plan.h"
#include "app/processes/process_settings.h"
#include "app/tools/compare_command.h"
#include "app/tools/devices_command.h"
#include "app/tools/inspect_command.h"
#include "app/tools/keys_command.h"
#include "app/tools/plan_command.h"
#include "app/tools/predict_command.h"
#include "app/tools/profile_command.h"
#include "app/tools/simulate_command.h"
#include "app/tools/status_command.h"

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

struct JournalCommand {
  std::string run;                                                  // directory
  std::uint64_t until = std::numeric_limits<std::uint64_t>::max();  // number of the last record
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
Command read_command_line(int argc, const char* const* argv);

}  // namespace steelyard
