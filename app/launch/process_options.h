// The options of the processes of a job, as a command line: written for a process that is started here or on
// another host, and read by that process. Both are made from one table for each role, so reading what was
// written gives the same options. A fingerprint is no option: people name a job file instead (cli).
#pragma once

#include <string>
#include <vector>

#include "app/processes/process_settings.h"

namespace CLI {
class App;
}

namespace steelyard {

// Lets the command read these options when it parses its arguments. The options outlive it.
void add_options(CLI::App& command, SchedulerOptions& options);
void add_options(CLI::App& command, ServerOptions& options);
void add_options(CLI::App& command, WorkerOptions& options);
void add_options(CLI::App& command, StandbyOptions& options);
// Those of `train` and `launch`; `where` stands before the help of each path.
void add_options(CLI::App& command, ResultOptions& options, const std::string& where);
// Of those of a worker, --device, --threads and --precision: what computes, and how. For `profile`.
void add_computing_options(CLI::App& command, WorkerSpec& spec);

// The words that give these options: none for a default, unless the environment could say otherwise.
std::vector<std::string> arguments_of(const SchedulerOptions& options);
std::vector<std::string> arguments_of(const ServerOptions& options);
std::vector<std::string> arguments_of(const WorkerOptions& options);

}  // namespace steelyard
