#include "app/launch/process_options.h"

#include <CLI/CLI.hpp>

#include <concepts>
#include <cstdint>
#include <limits>

#include "app/config/toml_section.h"
#include "app/web/place.h"
#include "core/device_name.h"
#include "core/error.h"
#include "worker/compute/device_choice.h"
#include "worker/compute/throttle.h"

namespace steelyard {
namespace {

struct Row {
  std::string names;                  // the first is the one that is written
  std::string help;                   // empty: not for people
  const char* environment = nullptr;  // a variable that gives it where no argument does
  CLI::Validator check{};
};

CLI::Validator checked_by(bool (*is_good)(std::string_view), const std::string& expected) {
  const auto check = [is_good, expected](const std::string& text) {
    return is_good(text) ? std::string() : steelyard::toml_quoted(text) + ": give " + expected;
  };
  return {check, "", ""};
}

CLI::Validator web_place_validator() {
  const auto check = [](const std::string& text) -> std::string {
    try {
      web_place(text);
      return "";
    } catch (const Failure& failure) {
      return failure.what();
    }
  };
  return {check, "", ""};
}

const Row scheduler_row{"--scheduler",
                        "the scheduler's endpoint; where it has a standby, both, with a comma between them",
                        "STEELYARD_SCHEDULER"};
const Row quiet_row{"--quiet,-q", "say only what goes wrong"};
const Row insecure_row{"--insecure", "allow plain-text connections from other machines"};
const Row keys_row{
    "--keys",
    "a directory of keys (`steelyard keys`): connections are encrypted, and only who is on its "
    "list takes part"};
const Row exchange_row{"--exchange", exchange_help, nullptr, CLI::IsMember(exchanges)};
const Row trace_row{"--trace",
                    "write down what it does and when, in this directory: `steelyard trace` shows that"};
const Row wait_row{"--wait", "seconds to wait for the scheduler, at first and when it is silent", nullptr,
                   CLI::Range(0.0, 1e6)};

Row device_row() {
  return {"--device", "what computes: " + device_expected(), nullptr,
          checked_by(is_device, device_expected())};
}
Row threads_row() {
  return {"--threads", "that compute, on a CPU; \"auto\": one for every core that it may use", nullptr,
          checked_by(is_thread_count, thread_count_expected())};
}
Row precision_row() {
  return {"--precision",
          "of the factors of products: bf16 where the processor has it, and float32 elsewhere; tf32 on "
          "GPUs only",
          nullptr, CLI::IsMember(precision_names())};
}

void each_option(ResultOptions& it, const std::string& where, auto&& visit) {
  visit(Row{"--run-dir,--run_dir", where + "where results go (default: runs/NAME-N, a new one each time)"},
        it.directory);
  visit(Row{"--resume", "go on from the newest checkpoint in --run-dir"}, it.resume);
  visit(Row{"--resume-from,--resume_from", where + "go on from this checkpoint directory"}, it.resume_from);
  visit(
      Row{"--tensorboard", "write the numbers of each round for TensorBoard, too: tensorboard --logdir runs"},
      it.tensorboard);
  visit(Row{"--web",
            where + "show the run while it trains, to a browser, and to Prometheus at /metrics: " +
                web_place_expected + " (port 0: any)",
            nullptr, web_place_validator()},
        it.web);
}

void each_option(SchedulerOptions& it, auto&& visit) {
  visit(Row{"--listen", "where servers and workers connect to (port * for any)", "STEELYARD_LISTEN"},
        it.listen);
  visit(keys_row, it.keys);
  each_option(it.results, "", visit);
  visit(trace_row, it.trace);
  visit(Row{"--recover", "go on with the job in --run-dir, whose scheduler was killed"}, it.recover);
  visit(Row{"--run-dir-ready", ""}, it.results.ready);
  visit(Row{"--run-dir-lock", ""}, it.results.lock);
  visit(Row{"--quiet,-q", "no progress, only the summary"}, it.quiet);
  visit(insecure_row, it.insecure);
}

void each_option(StandbyOptions& it, auto&& visit) {
  visit(scheduler_row, it.scheduler);
  visit(Row{"--listen", "where servers and workers connect to when it leads", "STEELYARD_LISTEN"},
        it.lead.listen);
  visit(keys_row, it.lead.keys);
  visit(Row{"--run-dir,--run_dir", "where the run's results go when it leads (default: runs/NAME-N)"},
        it.lead.results.directory);
  visit(wait_row, it.wait);
  visit(Row{"--quiet,-q", "no progress, only the summary"}, it.lead.quiet);
  visit(insecure_row, it.lead.insecure);
}

void each_option(ServerOptions& it, auto&& visit) {
  visit(scheduler_row, it.scheduler);
  visit(Row{"--name", "what to call it (default: made from host and process)", "STEELYARD_NAME"}, it.name);
  visit(Row{"--listen", "where workers connect to", "STEELYARD_LISTEN"}, it.listen);
  visit(Row{"--advertise", "the host name or address under which workers reach this server"}, it.advertise);
  visit(keys_row, it.keys);
  visit(Row{"--shards", "threads that each hold a part of the model", nullptr, CLI::Range(1, 64)}, it.shards);
  visit(Row{"--mirrors", "further threads that mirror shards of other servers (cluster.replicas)", nullptr,
            CLI::Range(0, 64)},
        it.mirrors);
  visit(exchange_row, it.exchange);
  visit(wait_row, it.wait);
  visit(trace_row, it.trace);
  visit(quiet_row, it.quiet);
  visit(insecure_row, it.insecure);
}

void each_option(WorkerOptions& it, auto&& visit) {
  const CLI::Validator slow = checked_by(Throttle::is_slow, Throttle::slow_expected());
  const CLI::Validator cpu = checked_by(Throttle::is_cpu, Throttle::cpu_expected());
  // Of -1 an unsigned range would make a very large number.
  const auto natural = CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()).description("");
  visit(scheduler_row, it.scheduler);
  visit(Row{"--name", "what to call it; each worker needs its own (default: made from host and process)",
            "STEELYARD_NAME"},
        it.spec.name);
  visit(device_row(), it.spec.device);
  visit(Row{"--slow",
            "compute so many times slower, to try out unequal machines: a number, or steps as in \"2, 6@10, "
            "again@20\"",
            nullptr, slow},
        it.spec.slow);
  visit(Row{"--cpu",
            "share of its processor that others leave to it, to try that out: the same, as in \"1, 0.4@10, "
            "1@20\"",
            nullptr, cpu},
        it.spec.cpu);
  visit(Row{"--max-batch", "positions that fit its memory in one piece (0: no limit)", nullptr, natural},
        it.spec.max_batch);
  visit(threads_row(), it.spec.threads);
  visit(Row{"--polite", "compute on what others leave of this machine, and pause while they need it"},
        it.spec.polite);
  visit(keys_row, it.keys);
  visit(precision_row(), it.spec.precision);
  visit(exchange_row, it.exchange);
  visit(wait_row, it.wait);
  visit(trace_row, it.trace);
  visit(quiet_row, it.quiet);
  visit(Row{"--data", "replace a data option of the job, as in dir=/data/fashion; may be repeated"},
        it.data_options);
}

struct OptionReader {
  CLI::App& command;

  template <class Value>
  void operator()(const Row& row, Value& value) const {
    CLI::Option* option = nullptr;
    if constexpr (std::same_as<Value, bool>) {
      option = command.add_flag(row.names, value, row.help);
    } else {
      option = command.add_option(row.names, value, row.help);
    }
    if constexpr (std::same_as<Value, std::vector<std::string>>)
      option->type_name("KEY=VALUE")->allow_extra_args(false);
    if (row.environment != nullptr) option->envname(row.environment);
    if constexpr (std::same_as<Value, std::string>)
      if (row.environment != nullptr) option->default_str(value);
    if (row.help.empty()) option->group("");
    option->required(row.names == scheduler_row.names)->check(row.check);
  }
};

// Of each option, in order, its words.
struct Writer {
  struct Words {
    std::vector<std::string> words;
    bool always;  // the environment could give another value than the default
  };
  std::vector<Words> options{};

  template <class Value>
  void operator()(const Row& row, const Value& value) {
    const std::string name = row.names.substr(0, row.names.find(','));
    std::vector<std::string> words;
    const auto add = [&](const std::string& text) {
      // What begins like an option would be taken for one.
      if (text.starts_with('-')) return words.push_back(name + "=" + text);
      words.insert(words.end(), {name, text});
    };
    if constexpr (std::same_as<Value, bool>) {
      if (value) words = {name};
    } else if constexpr (std::same_as<Value, std::string>) {
      add(value);
    } else if constexpr (std::same_as<Value, double>) {
      add(number_text(value));
    } else if constexpr (std::integral<Value>) {
      add(std::to_string(value));
    } else {
      for (const std::string& each : value) add(each);
    }
    options.push_back({std::move(words), row.environment != nullptr});
  }
};

template <class Options>
std::vector<std::string> words_of(const Options& given) {
  Options options = given, defaults;
  Writer all, usual;
  each_option(options, all);
  each_option(defaults, usual);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < all.options.size(); ++i) {
    const auto& [option, always] = all.options[i];
    if (always || option != usual.options[i].words) words.insert(words.end(), option.begin(), option.end());
  }
  return words;
}

}  // namespace

void add_options(CLI::App& command, SchedulerOptions& options) {
  each_option(options, OptionReader{command});
}
void add_options(CLI::App& command, ServerOptions& options) { each_option(options, OptionReader{command}); }
void add_options(CLI::App& command, WorkerOptions& options) { each_option(options, OptionReader{command}); }
void add_options(CLI::App& command, StandbyOptions& options) { each_option(options, OptionReader{command}); }
void add_options(CLI::App& command, ResultOptions& options, const std::string& where) {
  each_option(options, where, OptionReader{command});
}
void add_computing_options(CLI::App& command, WorkerSpec& spec) {
  const OptionReader reader{command};
  reader(device_row(), spec.device);
  reader(threads_row(), spec.threads);
  reader(precision_row(), spec.precision);
}

std::vector<std::string> arguments_of(const SchedulerOptions& options) { return words_of(options); }
std::vector<std::string> arguments_of(const ServerOptions& options) { return words_of(options); }
std::vector<std::string> arguments_of(const WorkerOptions& options) { return words_of(options); }

}  // namespace steelyard
