// The options of a job's processes, as command lines: written by the launcher, read by the started process.
// Both directions use the keys of the process (app/processes/process_keys.h), so that the same options come
// back. A fingerprint is not an option; the command line has a job file instead (app/cli).
#pragma once

#include <string>
#include <vector>

#include "app/config/schema.h"
#include "app/processes/process_settings.h"

namespace CLI {
class App;
}

namespace steelyard {

// Adds these keys as options of the command. The members that they fill must outlive it.
void add_keys(CLI::App& command, const std::vector<Key>& keys);

// The arguments that set these options. Defaults are left out, unless an environment variable could change
// them.
std::vector<std::string> arguments_of(const SchedulerOptions& options);
std::vector<std::string> arguments_of(const ServerOptions& options);
std::vector<std::string> arguments_of(const WorkerOptions& options);

}  // namespace steelyard
