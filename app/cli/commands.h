// The commands that people type: names, options and their help, and what each of them does. CLI11 stays in
// the .cpp.
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

// The commands of a command line, while it is read.
class Commands {
 public:
  // `app` reads the line.
  explicit Commands(CLI::App& app) : app_(app) {}

  Command chosen;                       // empty where nothing but help is asked for
  std::vector<ScriptOptions*> scripts;  // of commands that take one: the words behind it are its own

  template <class Options>
  struct Added {
    CLI::App& app;
    Options& it;  // what its options are read into
  };
  // A command, which hands what was read to `run`.
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
// Of these, the products of their own (app/tools).
void add_simulations(Commands& all);
void add_plan(Commands& all);
void add_tools(Commands& all);

// ---- options that several of them have

// --set
void add_settings(CLI::App& app, std::vector<std::string>& overrides,
                  const std::string& meaning = "replace a key of the job file, as in train.lr=0.05");
// A job file, and --set.
void add_job(CLI::App& app, std::string& file, std::vector<std::string>& overrides);
// An option that may be repeated, and takes one value each time.
void add_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
              const std::string& type, const std::string& help);
void add_exchange(CLI::App& app, std::string& exchange);

}  // namespace steelyard
