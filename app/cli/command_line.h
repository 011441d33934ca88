// The command line, understood. CLI11 stays in the .cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace steelyard {

// What was asked for, with its options: returns the exit code of the process, or throws Failure.
using Command = std::function<int()>;

// Throws Failure (usage) for what cannot be understood. The help tells of a user's own models and policies
// too.
Command read_command_line(int argc, const char* const* argv);

// In top and ps, which show fifteen letters. Children run /proc/self/exe, and would all be called "exe".
void call_process(const char* name);

// What `steelyard help TOPIC` prints of files and of what a job chooses by name: from the tables that the
// program itself reads.

// job, scenario, hosts, model, data, policy, sync, schema, schema-scenario, schema-hosts.
const std::vector<std::string>& help_topics();

// None for a topic that there is not.
std::optional<std::string> describe(const std::string& topic);

}  // namespace steelyard
