// Parses the command line. CLI11 stays in the .cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace steelyard {

// The chosen command, bound to its options. Returns the exit code of the process, or throws Failure.
using Command = std::function<int()>;

// Throws Failure (usage) for an invalid command line. The help includes models and policies that a user's
// program adds.
Command read_command_line(int argc, const char* const* argv);

// Sets the name that top and ps show (15 letters). Children run /proc/self/exe, and would all be called
// "exe".
void call_process(const char* name);

// Help topics other than commands: file formats, and tables of names that a job can choose. The text is made
// from the tables that the program itself reads.

// job, scenario, hosts, model, data, policy, sync, schema, schema-scenario, schema-hosts.
const std::vector<std::string>& help_topics();

// Returns std::nullopt for an unknown topic.
std::optional<std::string> describe(const std::string& topic);

}  // namespace steelyard
