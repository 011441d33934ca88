// The options of the processes of a job, as a command line: written for a process that is started here or on
// another host, and read by that process. Both follow from the keys of the process
// (app/processes/process_keys.h), so reading what was written gives the same options. A fingerprint is no
// option: people name a job file instead (cli).
#pragma once

#include <string>
#include <vector>

#include "app/config/schema.h"
#include "app/processes/process_settings.h"

namespace CLI {
class App;
}

namespace steelyard {

// Lets the command read these keys when it parses its arguments. What they fill must outlive it.
void add_keys(CLI::App& command, const std::vector<Key>& keys);

// The words that give these options: none for a default, unless the environment could say otherwise.
std::vector<std::string> arguments_of(const SchedulerOptions& options);
std::vector<std::string> arguments_of(const ServerOptions& options);
std::vector<std::string> arguments_of(const WorkerOptions& options);

}  // namespace steelyard
