#include "config/job_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "balancing/policies.h"
#include "config/choices.h"
#include "config/input_file.h"
#include "config/job_keys.h"
#include "config/job_source.h"
#include "config/scenario_sign.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/near_match.h"
#include "wire/local_steps.h"
#include "wire/sync_mode.h"
#include "wire/transport/zmq.h"

namespace steelyard {
namespace {

// As a person would have to write it.
std::string in_section(const std::string& section) {
  return section == "worker" ? "[[worker]]" : "[" + section + "]";
}

std::vector<std::string> names_in(const std::string& section) {
  std::vector<std::string> names;
  for (const JobKey& key : job_keys()) {
    if (section == key.section) names.emplace_back(key.name);
  }
  return names;
}

// Of a number. toml++ gives none as a double that is whole and too long for one, like 9223372036854775807.
double number_of(const toml::node& node) {
  return node.is_integer() ? static_cast<double>(**node.as_integer()) : **node.as_floating_point();
}

const JobKey* find_key(const std::string& section, std::string_view name) {
  for (const JobKey& key : job_keys()) {
    if (section == key.section && name == key.name) return &key;
  }
  return nullptr;
}

// Reads one file, section by section, into a draft.
class JobReader {
 public:
  JobReader(const JobSource& source, const Extensions& extensions, const ClusterSpec* cluster)
      : source_(source), extensions_(extensions), cluster_(cluster) {}

  JobFile read() {
    check_kind();
    check_sections();
    for (const JobSection& section : job_sections()) {
      const toml::table* table = source_.root()[section.name].as_table();
      if (table != nullptr) read_section(section.name, section.name, *table);
    }
    const Job& job = draft_.file.job;
    check_choice("model", model_trouble(job.model, job.model_options, extensions_));
    check_choice("data", data_trouble(job.data, job.data_options, extensions_));
    read_policies();
    read_workers();
    if (cluster_ != nullptr) {
      draft_.file.servers = cluster_->servers;
      draft_.shards_per_server = 1;
      draft_.file.worker_specs = cluster_->workers;
    }
    finish();
    return std::move(draft_.file);
  }

 private:
  void check_kind() const;
  void check_sections();
  void read_section(const std::string& section, const std::string& path, const toml::table& table);
  void read_value(const JobKey& key, const std::string& path, const toml::node& node);
  void read_option(const std::string& section, const std::string& path, const std::string& name,
                   const toml::node& node);
  void read_policies();
  void check_choice(const std::string& section, const std::optional<OptionTrouble>& trouble) const;
  void check_options(const std::string& policy, const toml::table& section,
                     const toml::source_region& place) const;
  void read_workers();
  void finish();

  [[nodiscard]] bool is_given(const char* section, const char* key) const {
    return bool(source_.root()[section][key]);
  }
  // A rule that joins two keys was broken; the first is where to look.
  void demand(bool holds, const std::string& section, const std::string& key, const std::string& what) const {
    const toml::node* node = source_.root()[section][key].node();
    if (!holds)
      source_.refuse(section + "." + key, node != nullptr ? node->source() : toml::source_region{}, what);
  }

  const JobSource& source_;
  const Extensions& extensions_;
  const ClusterSpec* const cluster_;
  JobDraft draft_;
};

// Not by the first of its keys that no job has. One with [train] or [cluster] is a job with a slip in it.
void JobReader::check_kind() const {
  const std::string sign = scenario_sign(source_);
  if (sign.empty() || source_.root().contains("train") || source_.root().contains("cluster")) return;
  source_.refuse("", {},
                 "this is a scenario, it has " + sign +
                     ": run it with `steelyard simulate`, or give a job (steelyard help job)");
}

// Before anything is read, so that a slip in a section's name is not answered by "no worker".
void JobReader::check_sections() {
  std::vector<std::string> known{"policy"};
  for (const JobSection& section : job_sections()) known.emplace_back(section.name);
  for (auto&& [name, node] : source_.root()) {
    const std::string text(name.str());
    if (std::ranges::find(known, text) == known.end()) {
      std::string advice = among(text, known);
      // A key above the first section is the likeliest slip.
      for (const JobSection& section : job_sections()) {
        if (find_key(section.name, text) != nullptr) {
          advice = "; put it under " + in_section(section.name);
          break;
        }
      }
      source_.refuse(
          text, name.source(),
          (node.is_table() ? "unknown section [" + text + "]" : "unknown key \"" + text + "\"") + advice);
    }
    if (text == "worker" ? !node.is_array_of_tables() : !node.is_table()) {
      source_.refuse(
          text, name.source(),
          quoted(text) + " must be a section: write " + in_section(text) + " on a line of its own");
    }
  }
}

// `path` leads to the section as --set would: "train", "worker.fast".
void JobReader::read_section(const std::string& section, const std::string& path, const toml::table& table) {
  for (auto&& [name, node] : table) {
    const std::string text(name.str());
    if (const JobKey* key = find_key(section, text)) {
      read_value(*key, path + "." + text, node);
    } else if (section == "model" || section == "data") {
      read_option(section, path + "." + text, text, node);
    } else {
      const std::vector<std::string> known = names_in(section);
      source_.refuse(path + "." + text, name.source(),
                     "unknown key \"" + text + "\" in " + in_section(section) + among(text, known));
    }
  }
}

// Type first, then range: the message is the same, for it shows the value and says what may stand there.
void JobReader::read_value(const JobKey& key, const std::string& path, const toml::node& node) {
  const JobLimits& limits = key.limits;
  const auto refuse = [&] {
    source_.refuse(path, node.source(),
                   std::string(key.name) + " = " + shown(node) + " in " + in_section(key.section) +
                       ": give " + allowed(key));
  };
  const JobField field = key.field(draft_);
  if (auto* const* text = std::get_if<std::string*>(&field)) {
    const auto value = limits.accepts != nullptr ? text_or_number(node) : node.value_exact<std::string>();
    const auto among = [&] { return std::ranges::find(limits.choices, *value) != limits.choices.end(); };
    const bool good = value && (limits.accepts != nullptr ? limits.accepts(*value)
                                : limits.choices.empty()  ? is_plain_name(*value)
                                                          : among());
    if (!good) refuse();
    **text = *value;
    return;
  }
  const bool whole = !std::holds_alternative<double*>(field);
  if (!node.is_integer() && (whole || !node.is_floating_point())) refuse();
  const double value = number_of(node);
  if (!std::isfinite(value) || value < limits.least || value > limits.most ||
      (limits.above && value == limits.least) || (limits.below && value == limits.most)) {
    refuse();
  }
  if (auto* const* number = std::get_if<double*>(&field)) **number = value;
  if (auto* const* number = std::get_if<std::uint32_t*>(&field)) **number = static_cast<std::uint32_t>(value);
  // Not by way of a double: a seed has 63 bits.
  if (auto* const* number = std::get_if<std::uint64_t*>(&field))
    **number = static_cast<std::uint64_t>(**node.as_integer());
}

// Which options a model, data set or policy has is looked at once all are read; here an option only has to be
// a plain value that the resolved text can give back.
void JobReader::read_option(const std::string& section, const std::string& path, const std::string& name,
                            const toml::node& node) {
  const bool number = node.is_number() && std::isfinite(number_of(node));
  const bool good = section == "model" ? number : number || node.is_string() || node.is_boolean();
  if (!good || !is_plain_name(name) || name.find('.') != std::string::npos) {
    source_.refuse(path, node.source(),
                   name + " = " + shown(node) + " in " + in_section(section) +
                       ": an option has a plain name and " +
                       (section == "model" ? "is a number" : "is a text, a number, true or false"));
  }
  if (section == "model") {
    draft_.file.job.model_options[name] = number_of(node);
    return;
  }
  std::string text = text_or_number(node).value_or("");
  if (node.is_boolean()) text = **node.as_boolean() ? "true" : "false";
  auto& options = section == "data" ? draft_.file.job.data_options : draft_.file.job.policy_options;
  options[name] = text;
}

// Of [model] and [data]. A name that is not given is the default, and there is one of that name.
void JobReader::check_choice(const std::string& section, const std::optional<OptionTrouble>& trouble) const {
  if (!trouble) return;
  const std::string key = trouble->option.empty() ? "name" : trouble->option;
  const toml::node* node = source_.root()[section][key].node();
  source_.refuse(section + "." + key, node != nullptr ? node->source() : toml::source_region{},
                 trouble->what);
}

void JobReader::check_options(const std::string& policy, const toml::table& section,
                              const toml::source_region& place) const {
  const auto trouble = policy_trouble(policy, draft_.file.job.policy_options,
                                      balancing::policy_names(extensions_.policies), extensions_);
  if (!trouble) return;
  const toml::node* node = section.get(trouble->option);
  const std::string behind = trouble->option.empty() ? "" : "." + trouble->option;
  source_.refuse("policy." + policy + behind, node != nullptr ? node->source() : place, trouble->what);
}

// Options may be there for several policies, so that --set cluster.policy=... can choose; all are looked at,
// those of the chosen one count.
void JobReader::read_policies() {
  const toml::table* policies = source_.root()["policy"].as_table();
  if (policies == nullptr) return;
  std::map<std::string, std::string> chosen;
  for (auto&& [name, node] : *policies) {
    const std::string section = "policy." + std::string(name.str());
    const toml::table* options = node.as_table();
    if (options == nullptr) {
      source_.refuse(section, name.source(),
                     quoted(name.str()) + " in [policy] must be a section: write [policy.<policy>] above it");
    }
    draft_.file.job.policy_options.clear();
    for (auto&& [option, value] : *options) {
      read_option(section, section + "." + std::string(option.str()), std::string(option.str()), value);
    }
    check_options(std::string(name.str()), *options, name.source());
    if (name.str() == draft_.file.job.policy) chosen = draft_.file.job.policy_options;
  }
  draft_.file.job.policy_options = chosen;
}

// Names are given before they are compared: a worker may be called like the default of another.
void JobReader::read_workers() {
  const toml::array* workers = source_.root()["worker"].as_array();
  if (workers == nullptr) {
    source_.refuse("worker", {}, "no worker: write [[worker]] once for each, on a line of its own");
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < workers->size(); ++i) {
    const toml::table& table = *workers->get(i)->as_table();
    draft_.worker = {};
    draft_.worker.name = "worker-" + std::to_string(i);
    read_section("worker", "worker." + table["name"].value_or(draft_.worker.name), table);
    if (!names.insert(draft_.worker.name).second) {
      source_.refuse(
          "worker", table.source(),
          "two workers are called " + quoted(draft_.worker.name) + ": give each its own name in [[worker]]");
    }
    draft_.file.worker_specs.push_back(draft_.worker);
  }
}

// What follows from several keys, once all of them are known.
void JobReader::finish() {
  Job& job = draft_.file.job;
  using Kind = nn::Optimizer::Kind;
  job.optimizer.kind = draft_.optimizer == "sgd"        ? Kind::sgd
                       : draft_.optimizer == "momentum" ? Kind::momentum
                                                        : Kind::nesterov;
  using Course = nn::Schedule::Kind;
  job.schedule.kind = draft_.schedule == "constant" ? Course::constant
                      : draft_.schedule == "step"   ? Course::step
                                                    : Course::cosine;
  if (!is_given("train", "epochs") && (job.rounds > 0 || job.seconds > 0)) job.epochs = 0;
  demand(job.epochs > 0 || job.rounds > 0 || job.seconds > 0, "train", "epochs",
         "training would never end: give [train] epochs, rounds or seconds above 0");
  demand(
      job.epochs > 0 || job.rounds > 0 || (job.schedule.warmup == 0 && job.schedule.kind == Course::constant),
      "train", job.schedule.warmup > 0 ? "warmup" : "schedule",
      "a warm-up or a changing learning rate needs the length of the training: give [train] epochs or "
      "rounds beside seconds");
  demand(job.dead_after > 2 * job.heartbeat, "cluster", "dead_after",
         "dead_after = " + number_text(job.dead_after) +
             " in [cluster]: give more than two heartbeats, above " + number_text(2 * job.heartbeat));
  job.sync = parse_sync(draft_.sync);
  job.sums = draft_.sums == "ordered" ? SumOrder::positions : SumOrder::arrival;
  const SyncMode& mode = job.sync;
  demand(mode.span != SyncMode::Span::job || job.epochs > 0, "cluster", "sync",
         "sync = \"" + draft_.sync +
             "\" in [cluster]: one round for the whole job needs its length: give "
             "[train] epochs");
  demand(!mode.on_arrival || job.sums != SumOrder::positions, "cluster", "sums",
         "sums = \"ordered\" in [cluster]: under sync = \"" + draft_.sync +
             "\" pushes are applied as they come and there is no order to keep: leave it out, or choose bsp, "
             "local or oneshot");
  if (job.epochs > 0) job.schedule.epochs = static_cast<double>(job.epochs);
  job.shards = draft_.file.servers * draft_.shards_per_server;
  demand(job.shards <= most_connections, "cluster", "servers",
         "servers x shards_per_server = " + std::to_string(job.shards) +
             " in [cluster]: every worker is connected with each of them, and " +
             std::to_string(most_connections) + " is the most: give fewer");
  job.workers = static_cast<std::uint32_t>(draft_.file.worker_specs.size());
  draft_.file.resolved = resolved_text(draft_);
}

}  // namespace

JobFile parse_job(std::string_view text, const std::string& name, const std::vector<std::string>& overrides,
                  const Extensions& extensions, const ClusterSpec* cluster) {
  const JobSource source(text, name, overrides);
  return JobReader(source, extensions, cluster).read();
}

JobFile read_job_file(const std::string& path, const std::vector<std::string>& overrides,
                      const Extensions& extensions, const ClusterSpec* cluster) {
  const InputKind kind{"job file", 1,
                       "check the name, or begin with a copy of examples/jobs/quick.toml (steelyard help job "
                       "lists all keys)"};
  return parse_job(read_input(path, kind), path, overrides, extensions, cluster);
}

std::string memory_note(const JobFile& file) {
  const std::uint64_t batch = file.job.global_batch;
  std::uint64_t hold = 0;
  for (const WorkerSpec& worker : file.worker_specs) {
    hold += worker.max_batch == 0 ? batch : std::min(worker.max_batch, batch);
  }
  if (hold >= batch) return "";
  return "the workers hold " + std::to_string(hold) + " of the " + std::to_string(batch) +
         " samples of a round at once (max_batch in [[worker]]): each round takes " +
         std::to_string((batch + hold - 1) / hold) + " turns; give them more, or [train] a smaller batch";
}

void set_samples(Job& job, std::uint64_t train, std::uint64_t test) {
  if (train < job.global_batch) {
    throw Failure(ExitCode::configuration,
                  "batch = " + std::to_string(job.global_batch) + " in [train]: data set \"" + job.data +
                      "\" has only " + std::to_string(train) + " training samples: give no more than that");
  }
  const SyncMode& mode = job.sync;
  const std::uint64_t steps = steps_of_longest_round(mode, train, job.global_batch, job.epochs);
  if (steps > most_steps_in_round) {
    throw Failure(ExitCode::configuration,
                  "sync = \"" + sync_text(mode) + "\" in [cluster]: one round would take " +
                      std::to_string(steps) + " local steps, and " + std::to_string(most_steps_in_round) +
                      " is the most: give [train] a larger batch" +
                      (mode.span == SyncMode::Span::job ? " or fewer epochs, or choose oneshot:epoch" : ""));
  }
  job.train_samples = train;
  job.test_samples = test;
  if (job.rounds == 0) return;
  // The last round of an epoch takes what is left.
  const std::uint64_t batches = std::max<std::uint64_t>(1, mode.local);
  const std::uint64_t length_of_round =
      mode.span == SyncMode::Span::batch && batches < train / job.global_batch ? batches * job.global_batch
                                                                               : train;
  const std::uint64_t per_epoch = (train + length_of_round - 1) / length_of_round;
  const double rest =
      static_cast<double>(job.rounds % per_epoch * length_of_round) / static_cast<double>(train);
  const std::uint64_t whole = job.rounds / per_epoch;
  const double length = static_cast<double>(whole) + std::min(1.0, rest);
  job.schedule.epochs = job.epochs == 0 ? length : std::min(length, static_cast<double>(job.epochs));
}

}  // namespace steelyard
