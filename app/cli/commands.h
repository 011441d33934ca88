// The commands: names, options, help, and the function that each one runs. CLI11 stays in the .cpp.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "app/cli/command_line.h"
#include "core/error.h"

namespace CLI {
class App;
}

namespace steelyard {

struct ScriptOptions;

// Collects the commands before the command line is parsed.
class Commands {
 public:
  // `app` parses the command line.
  explicit Commands(CLI::App& app) : app_(app) {}

  Command chosen;                       // empty if only help was requested
  std::vector<ScriptOptions*> scripts;  // of commands that take a script; arguments after it belong to it

  template <class Options>
  struct Added {
    CLI::App& app;
    Options& it;  // filled by the options
  };
  // Adds a command; it calls `run` with the parsed options.
  template <class Result, class Options>
  Added<std::remove_const_t<Options>> add(const std::string& name, const std::string& help,
                                          Result (*run)(Options&)) {
    const auto options = std::make_shared<std::remove_const_t<Options>>();
    CLI::App& app = add(name, help, [=] {
      if constexpr (!std::is_void_v<Result>) return run(*options);
      run(*options);
      return static_cast<int>(ExitCode::ok);
    });
    return {app, *options};
  }

 private:
  CLI::App& add(const std::string& name, const std::string& help, Command command);

  CLI::App& app_;
};

void add_commands(Commands& all);
// Called by add_commands(); these commands are in app/tools.
void add_simulations(Commands& all);
void add_plan(Commands& all);
void add_render(Commands& all);
void add_tools(Commands& all);
void add_run_tools(Commands& all);    // called by add_tools(): what looks at runs
void add_model_tools(Commands& all);  // likewise: what looks at checkpoints and uses them

// ---- options that several commands share

// --set
void add_settings(CLI::App& app, std::vector<std::string>& overrides,
                  const std::string& meaning = "replace a key of the job file, as in train.lr=0.05");
// The job file, and --set.
void add_job(CLI::App& app, std::string& file, std::vector<std::string>& overrides);
// An option that may be repeated, with one value each time.
void add_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
              const std::string& type, const std::string& help);
void add_exchange(CLI::App& app, std::string& exchange);
// --json: `what` goes to a file, or to standard output, `then` what happens to the usual output.
void add_json(CLI::App& app, std::string& file, const std::string& what, const std::string& then = "");

}  // namespace steelyard
