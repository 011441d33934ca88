#include "app/cli/command_line.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

#include "app/cli/commands.h"
#include "app/cli/completion.h"
#include "app/config/hosts_file.h"
#include "app/config/job_keys.h"
#include "app/config/prepare_job.h"
#include "app/config/registry.h"
#include "app/config/scenario_keys.h"
#include "app/launch/user_script.h"
#include "app/report/output_file.h"
#include "balancing/policies.h"
#include "core/error.h"
#include "nn/models.h"
#include "protocol/sync_mode.h"
#include "worker/data/data_sets.h"

namespace steelyard {
namespace {

constexpr const char* overview = R"(Trains neural networks on machines of unequal speed.

Examples:
  steelyard demo                       equal against balanced shares, on data that comes with the program
  steelyard train examples/jobs/fashion_mnist.toml
  steelyard train examples/jobs/fashion_mnist.toml --set cluster.policy=equal --set train.epochs=2
  steelyard help job                   every key of a job file
  steelyard run -n 2 train.py          your own script as the workers, with PyTorch or any framework
  steelyard simulate examples/scenarios/lbb_table2.toml
  steelyard compare examples/scenarios/lbb_table2.toml --policies equal,lbb,steelyard
  steelyard help scenario              every key of a scenario
  steelyard report runs/job-1          page that shows which worker slowed the others; see also status, runs
  steelyard replay runs/job-1 --policies equal,steelyard
  steelyard eval runs/job-1            test accuracy of a checkpoint; see also inspect, predict, export
  steelyard devices                    the devices that workers can use here: processor and GPUs
  steelyard profile --output here.json compute times of this machine, for scenarios
  steelyard launch examples/hosts.toml examples/jobs/quick.toml
  steelyard render slurm hosts.toml job.toml
                                       a batch script; also manifests for Kubernetes
  steelyard keys new ~/keys worker     keys for processes that you start yourself on several machines
  steelyard help hosts                 every key of a hosts file
  steelyard help policy                policies that divide rounds; see also help model, layers, data, sync

To start each process yourself, in any order, on one machine or several:
  steelyard scheduler JOB.toml --listen 127.0.0.1:7070
  steelyard server --scheduler 127.0.0.1:7070
  steelyard worker --scheduler 127.0.0.1:7070 --simulate-slowdown 2)";

constexpr const char* exit_codes = R"(Exit status:
  0   finished
  1   training failed
  2   wrong usage
  69  a process or host is lost or cannot be reached
  74  file or disk error
  75  stopped on request or by a temporary problem
  76  another release or another job
  78  wrong configuration)";

// The chosen command, or the whole program if none was chosen.
const CLI::App& command_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

// CLI11's message, the most similar valid word, and the command that lists all of them.
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
  // A missing argument is often the result of an unknown option, so that is reported first.
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string text = missing && !unknown.empty() ? "unknown option " + unknown : std::string(error.what());
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {  // CLI11 names them in another order
    text = "not expected:";
    for (const std::string& word : command.remaining()) text += " " + word;
  }
  return text + near + "; see `steelyard " + (top ? "" : command.get_name() + " ") + "--help`";
}

// `all` is the program's help, made before parsing: once a command is chosen, CLI11 returns the command's.
std::string help_topic(const CLI::App& app, const std::string& topic, const std::string& all) {
  if (topic.empty()) return all;
  if (const auto text = describe(topic)) return *text;
  std::vector<std::string> known = help_topics();
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == topic) return command->help("steelyard");
    if (!command->get_group().empty()) known.push_back(command->get_name());
  }
  refuse_usage("help " + topic + ": unknown topic" + among(topic, known));
}

// The number of arguments to parse: all after a script are passed to it, even if they look like our options.
int words_before_script(const CLI::App& app, int argc, const char* const* argv) {
  const std::string before = argc > 1 ? argv[1] : "";
  const int first = before == "--log" ? 3 : before.starts_with("--log=") ? 2 : 1;
  const std::string name = argc > first ? argv[first] : "";
  int words = name == "run" || name == "member" ? 1
              : name == "launch"                ? 2
              : name == "render"                ? 3
                                                : 0;  // without dashes, up to the script
  if (words == 0) return argc;
  const CLI::App& command = *app.get_subcommand(name);
  for (int i = first + 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.size() < 2 || word[0] != '-') {
      if (--words == 0) return is_script(word) ? i + 1 : argc;
      continue;
    }
    const bool is_long = word[1] == '-';
    const std::string called = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const CLI::Option* option = command.get_option_no_throw(called);
    if (called == "--hosts") --words;  // instead of the first word
    const bool value_is_next = word == called && option != nullptr && option->get_expected_max() > 0;
    i += value_is_next ? 1 : 0;
  }
  return argc;
}

// Prints help or the version on standard output.
Command shown(const std::string& text) {
  return [text] {
    std::fputs(text.c_str(), stdout);
    return static_cast<int>(ExitCode::ok);
  };
}

constexpr std::size_t name_column = 15, value_column = 28;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string option_text(const Option& option) {
  const std::string value = option.otherwise.empty() ? "" : " = " + option.otherwise;
  std::string text = padded("    " + option.name + value, value_column);
  if (text.size() > value_column) text += "\n" + std::string(value_column, ' ');
  text += option.help + "\n";
  if (option.allowed != "a text") text += std::string(value_column + 2, ' ') + option.allowed + "\n";
  return text;
}

template <class Make>
std::string rows_text(const Choices<Make>& own, const Choices<Make>& built_in) {
  std::string text;
  for (const Choices<Make>* rows : {&own, &built_in}) {
    for (const Choice<Make>& row : *rows) {
      text += padded("  " + row.name, name_column + 2) +
              (row.help.empty() ? "added by this program" : row.help) + "\n";
      for (const Option& option : row.options) text += option_text(option);
    }
  }
  return text;
}

std::string describe_models() {
  return "[model] name = \"...\", and its options in the same section:\n" +
         rows_text(registry().engines, {}) + rows_text(registry().models, nn::built_in_models()) +
         padded(std::string("  ") + external_model, name_column + 2) +
         "supplied by the workers: the first one that joins sends layout and initial parameters\n";
}

std::string describe_layers() {
  return "[[model.layer]] kind = \"...\", and its options in the same section, once for each layer of a "
         "chain. "
         "For\nbranches, a layer has a name and inputs (docs/models.md). The last layer gives the scores of "
         "the "
         "classes:\n" +
         rows_text({}, nn::layer_table());
}

std::string describe_data() {
  return "[data] name = \"...\", and its options in the same section:\n" +
         rows_text(registry().data_sets, built_in_data_sets());
}

std::string describe_policies() {
  return "[cluster] policy = \"...\", and its options in [policy.NAME]:\n" +
         rows_text(registry().policies, balancing::built_in_policies(registry().predictors)) +
         padded("  oracle", name_column + 2) + "knows the true time curves; in simulations only\n" +
         "Predictors of lb-bsp, chosen with its option predictor:\n" +
         rows_text(registry().predictors, balancing::built_in_predictors());
}

std::string describe_sync() {
  std::string text = "[cluster] sync = \"...\":\n";
  for (const SyncForm& form : sync_forms()) {
    text += padded("  " + form.text, name_column + 2) + form.meaning + "\n";
    if (!form.parameter.empty()) text += std::string(name_column + 4, ' ') + form.parameter + "\n";
  }
  return text;
}

template <class Draft>
std::string keys_of() {
  Draft draft;
  return steelyard::describe(schema_of(draft));
}

template <class Draft>
std::string schema_for() {
  Draft draft;
  return json_schema(schema_of(draft));
}

struct Topic {
  std::string name;
  std::string (*text)();
};

const std::vector<Topic>& topics() {
  static const std::vector<Topic> all{{"job", keys_of<JobDraft>},
                                      {"scenario", keys_of<ScenarioDraft>},
                                      {"hosts", keys_of<HostsDraft>},
                                      {"model", describe_models},
                                      {"layers", describe_layers},
                                      {"data", describe_data},
                                      {"policy", describe_policies},
                                      {"sync", describe_sync},
                                      {"schema", schema_for<JobDraft>},
                                      {"schema-scenario", schema_for<ScenarioDraft>},
                                      {"schema-hosts", schema_for<HostsDraft>}};
  return all;
}

}  // namespace

Command read_command_line(int argc, const char* const* argv) {
  CLI::App app(overview, "steelyard");
  app.footer(exit_codes);
  app.require_subcommand(0, 1);
  bool version = false;
  app.add_flag("--version", version,
               "print release, versions of protocol and journal, and processor features in use");

  std::string log;
  app.add_option("--log", log,
                 "how lines of the log begin, before the command: plain, dated (time and level; the default "
                 "in files) "
                 "or json; processes that it starts here do the same")
      ->check(CLI::IsMember({"plain", "dated", "json"}));

  Commands commands(app);
  std::string topic;
  add_commands(commands);
  CLI::App& help = *app.add_subcommand("help", "describe a command, a file format or a table of names");
  std::string completion;
  help.add_option("--completion", completion)
      ->check(CLI::IsMember(completed_shells))
      ->group("");  // for `cmake --install`
  help.add_option("topic", topic, "a command, or one of " + joined(help_topics()));

  const std::string all = app.help();
  const int ours = words_before_script(app, argc, argv);
  for (ScriptOptions* script : commands.scripts) script->arguments.assign(argv + ours, argv + argc);
  try {
    app.parse(ours, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App& command = command_of(app);
    return shown(&command == &app ? all : command.help("steelyard"));
  } catch (const CLI::ParseError& error) {
    refuse_usage(complaint(app, error));
  }
  if (!log.empty()) setenv("STEELYARD_LOG", log.c_str(), 1);
  if (version) return shown(version_text());
  if (commands.chosen) return commands.chosen;
  if (!completion.empty()) return shown(completion_script(app, completion));
  return shown(help_topic(app, topic, all));
}

const std::vector<std::string>& help_topics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Topic& topic : topics()) list.push_back(topic.name);
    return list;
  }();
  return names;
}

std::optional<std::string> describe(const std::string& topic) {
  for (const Topic& it : topics()) {
    if (it.name == topic) return it.text();
  }
  return std::nullopt;
}

}  // namespace steelyard
