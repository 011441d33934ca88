#include "app/cli/command_line.h"

#include <CLI/CLI.hpp>

#include <map>

#include "app/cli/commands.h"
#include "app/cli/help.h"
#include "app/config/registry.h"
#include "app/launch/user_script.h"
#include "app/report/output_file.h"
#include "core/error.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

constexpr const char* overview = R"(Trains neural networks on machines that are not equal.

Examples:
  steelyard train examples/jobs/fashion_mnist.toml
  steelyard train examples/jobs/fashion_mnist.toml --set cluster.policy=equal --set train.epochs=2
  steelyard help job                   every key of a job file
  steelyard run -n 2 train.py          a script of yours as the workers: PyTorch or what you like
  steelyard simulate examples/scenarios/lbb_table2.toml
  steelyard compare examples/scenarios/lbb_table2.toml --policies equal,lbb,steelyard
  steelyard help scenario              every key of a scenario
  steelyard report runs/job-1          a page: who held the others up, when; likewise status and runs
  steelyard replay runs/job-1 --policies equal,steelyard
  steelyard eval runs/job-1            test accuracy of a checkpoint; likewise inspect and predict
  steelyard devices                    what workers can compute on here: the processor, and GPUs
  steelyard profile --output here.json how long this machine takes, for scenarios
  steelyard launch examples/hosts.toml examples/jobs/quick.toml
  steelyard keys new ~/keys worker     who may take part, where processes are started by hand
  steelyard help hosts                 every key of a hosts file
  steelyard help policy                who may divide the rounds; likewise help model, data and sync

The roles by hand, in any order, on one machine or several:
  steelyard scheduler JOB.toml --listen 127.0.0.1:7070
  steelyard server --scheduler 127.0.0.1:7070
  steelyard worker --scheduler 127.0.0.1:7070 --slow 2)";

constexpr const char* exit_codes = R"(Exit status:
  0   finished
  1   training failed
  2   wrong usage
  69  a peer could not be reached
  74  file or disk
  75  ended on request, resume later
  76  another release or another job
  78  wrong configuration)";

// Which directory a run goes on in is nobody's guess.
void require_directory(const ResultOptions& results) {
  if (!results.resume || !results.directory.empty()) return;
  throw Failure(
      ExitCode::usage,
      "--resume needs --run-dir: the directory of the run to go on with, as in --run-dir runs/job-1");
}

// The command at hand, or all of it.
const CLI::App& command_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

// What CLI11 says, the nearest word that there is, and where the others are listed.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = command_of(app);
  const bool top = &command == &app;
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const CLI::App* other : app.get_subcommands({})) {
    if (top) known.push_back(other->get_name());
  }
  std::string near, unknown;
  for (const std::string& word : command.remaining()) {
    if (unknown.empty() && (top || word.starts_with("-"))) unknown = word.substr(0, word.find('='));
  }
  if (!unknown.empty()) near = did_you_mean(unknown, known);
  // What is missing is often behind an option that was not understood.
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::string text =
      missing && !unknown.empty() ? "there is no option " + unknown : std::string(error.what());
  return text + near + "; `steelyard " + (top ? "" : command.get_name() + " ") +
         "--help` tells what there is";
}

// `all` is the help of the whole: once a command is chosen, CLI11 gives that of the command for it.
std::string help_topic(const CLI::App& app, const std::string& topic, const std::string& all) {
  if (topic.empty()) return all;
  if (const auto text = describe(topic)) return *text;
  std::vector<std::string> known = help_topics();
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == topic) return command->help("steelyard");
    if (!command->get_group().empty()) known.push_back(command->get_name());
  }
  throw Failure(ExitCode::usage, "help " + topic + ": there is no such topic" + among(topic, known));
}

// The words that may stand where the option's value does; none: a file, or anything.
std::string words_for(const CLI::Option& option) {
  const std::string name = option.get_name();
  const bool policy = name.starts_with("--policy") || name.starts_with("--policies");
  const std::vector<std::string> words = policy            ? sim::simulated_policies(registry().policies)
                                         : name == "topic" ? help_topics()
                                                           : std::vector<std::string>();
  return CLI::detail::join(words, " ");
}

// Completes commands, their options, the words that a value may be, and otherwise files. A group without a
// name hides what people do not type.
std::string bash_completion(const CLI::App& app) {
  std::string names, options;
  std::map<std::string, std::string> values;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;
    std::vector<std::string> words;
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_group().empty()) continue;
      const std::string value = words_for(*option);
      const bool named = !option->get_lnames().empty();
      words.push_back(named ? "--" + option->get_lnames().front() : value);
      if (named && !value.empty()) values[words.back()] = value;
    }
    std::erase(words, "");
    names += command->get_name() + " ";
    options += "    " + command->get_name() + ") words=\"" + CLI::detail::join(words, " ") + "\" ;;\n";
  }
  std::string cases;
  for (const auto& [name, words] : values) cases += "    " + name + ") words=\"" + words + "\" ;;\n";
  return R"(# Completion of steelyard for bash.
_steelyard() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=")" +
         names + R"(--help --version"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
  case $before in
)" + cases +
         R"(    --*) [ "${word:0:1}" = - ] || { mapfile -t COMPREPLY < <(compgen -f -- "$word"); return; } ;;
  esac
  [ -n "$words" ] || case ${COMP_WORDS[1]} in
)" + options +
         R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _steelyard steelyard
)";
}

// How many words are ours: what stands behind a script is its own, options of our names too.
int words_before_script(const CLI::App& app, int argc, const char* const* argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  int words = name == "run" ? 1 : name == "launch" ? 2 : 0;  // without dashes, up to the script
  if (words == 0) return argc;
  const CLI::App& command = *app.get_subcommand(name);
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.size() < 2 || word[0] != '-') {
      if (--words == 0) return is_script(word) ? i + 1 : argc;
      continue;
    }
    const bool is_long = word[1] == '-';
    const std::string called = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const CLI::Option* option = command.get_option_no_throw(called);
    const bool value_is_next = word == called && option != nullptr && option->get_expected_max() > 0;
    i += value_is_next ? 1 : 0;
  }
  return argc;
}

// Of what was read, which is about a script.
void take_scripts(Commands& commands, std::vector<std::string> behind) {
  LaunchOptions &run = commands.run, &launch = commands.launch;
  if (!run.script->path.empty() && !is_script(run.script->path)) {
    throw Failure(ExitCode::usage,
                  "run " + run.script->path + ": this is a job file: run it with `steelyard train`");
  }
  if (!launch.job_file.empty() && is_script(launch.job_file))
    launch.script = ScriptOptions{launch.job_file, behind, 1, ""};
  run.script->arguments = std::move(behind);
}

// Workers have to come from somewhere.
void require_workers(const ScriptOptions& script) {
  if (!script.path.empty() || !script.sockets.empty()) return;
  throw Failure(
      ExitCode::usage,
      "run needs a script, as in `steelyard run -n 2 train.py`, or --sockets DIR where workers come by "
      "themselves");
}

}  // namespace

Command read_command_line(int argc, const char* const* argv) {
  CLI::App app(overview, "steelyard");
  app.footer(exit_codes);
  app.require_subcommand(0, 1);
  bool version = false;
  app.add_flag("--version", version, "release, protocol, and what this machine can compute with");

  Commands commands;
  std::string topic;
  add_commands(app, commands);
  CLI::App& help = *app.add_subcommand("help", "what a command or a file takes");
  std::string completion;
  help.add_option("--completion", completion)
      ->check(CLI::IsMember({"bash"}))
      ->group("");  // for `cmake --install`
  help.add_option("topic", topic, "a command, or: " + joined(help_topics()));

  const std::string all = app.help();
  const int ours = words_before_script(app, argc, argv);
  try {
    app.parse(ours, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App& command = command_of(app);
    return TextCommand{&command == &app ? all : command.help("steelyard")};
  } catch (const CLI::ParseError& error) {
    throw Failure(ExitCode::usage, complaint(app, error));
  }
  if (version) return TextCommand{version_text()};
  for (const ResultOptions* results : {&commands.train.results, &commands.run.results,
                                       &commands.launch.results, &commands.scheduler.options.results})
    require_directory(*results);
  take_scripts(commands, {argv + ours, argv + argc});
  if (app.got_subcommand("run")) require_workers(*commands.run.script);
  if (const auto command = chosen(app, commands)) return *command;
  if (!completion.empty()) return TextCommand{bash_completion(app)};
  return TextCommand{help_topic(app, topic, all)};
}

}  // namespace steelyard
