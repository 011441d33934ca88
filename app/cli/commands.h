// The commands that people type, as the command line is read into them: names, options and their help. CLI11
// stays in the .cpp.
#pragma once

#include <optional>

#include "app/cli/command_line.h"

namespace CLI {
class App;
}

namespace steelyard {

// What the options of each command are read into.
struct Commands {
  LaunchOptions train, run, launch;
  SchedulerCommand scheduler;
  StandbyOptions standby;
  ServerCommand server;
  WorkerCommand worker;
  SimulateCommand simulate;
  CompareCommand compare;
  ReplayCommand replay;
  PlanCommand plan;
  ReportCommand report;
  StatusCommand status;
  RunsCommand runs;
  AttendOptions attend;
  ProfileCommand profile;
  DevicesCommand devices;
  TraceCommand trace;
  JournalCommand journal;
  InspectCommand inspect;
  EvalCommand eval;
  PredictCommand predict;
  KeysCommand keys;
};

// Lets the application read all of them. They outlive it.
void add_commands(CLI::App& app, Commands& it);
// Of these, those that look at what runs have left.
void add_commands_of_runs(CLI::App& app, Commands& it);
// None where nothing but help is asked for.
std::optional<Command> chosen(const CLI::App& app, const Commands& it);

}  // namespace steelyard
