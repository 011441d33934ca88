// Completion of the command line in shells, from the same options as the help.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace steelyard {

inline const std::vector<std::string> completed_shells{"bash", "zsh", "fish"};

// The script for one of completed_shells. It completes commands, options and values, otherwise files. Options
// and commands in a group without a name are internal, and left out.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace steelyard
