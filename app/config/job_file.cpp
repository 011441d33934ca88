#include "app/config/job_file.h"

#include <steelyard/micro_batch.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "app/config/choices.h"
#include "app/config/job_keys.h"
#include "app/config/job_source.h"
#include "app/config/prepare_job.h"
#include "app/config/registry.h"
#include "app/config/toml_section.h"
#include "balancing/policies.h"
#include "core/error.h"
#include "nn/models.h"
#include "protocol/local_steps.h"
#include "protocol/sync_limits.h"
#include "transport/zmq.h"

namespace steelyard {
namespace {

// Reads one file, section by section, into a draft.
class JobReader {
 public:
  JobReader(JobSource& source, const ClusterSpec* cluster) : source_(source), cluster_(cluster) {}

  JobFile read() {
    check_kind();
    source_.rename_former(schema_);
    draft_.file.notices = source_.notices();
    TomlSection::check_all(source_, schema_);
    for (const Section& it : schema_.sections) {
      if (it.kind == Section::Kind::one) section(it.name).read();
    }
    const Job& job = draft_.file.job;
    section("model").demand_none(model_trouble(job.model, job.model_options), "name");
    section("data").demand_none(data_trouble(job.data, job.data_options), "name");
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
  // Not by the first of its keys that no job has. One with [train] or [cluster] is a job with a slip in it.
  void check_kind() const {
    const std::string sign = scenario_sign(source_);
    if (sign.empty() || source_.root().contains("train") || source_.root().contains("cluster")) return;
    source_.refuse("", {},
                   "this is a scenario, it has " + sign +
                       ": run it with `steelyard simulate`, or give a job (steelyard help job)");
  }
  // Options may be there for several policies, so that --set cluster.policy=... can choose; all are looked
  // at, those of the chosen one count.
  void read_policies() {
    Job& job = draft_.file.job;
    const std::vector<std::string> known = balancing::policy_names(registry().policies);
    for (const TomlSection& policy : TomlSection::all_of(source_, schema_, "policy")) {
      draft_.policy_options.clear();
      policy.read();
      policy.demand_none(policy_trouble(policy.part(), draft_.policy_options, known), "");
      if (policy.part() == job.policy) job.policy_options = draft_.policy_options;
    }
  }
  // Names are given before they are compared: a worker may be called like the default of another.
  void read_workers() {
    std::set<std::string> names;
    for (const TomlSection& section : TomlSection::all_of(source_, schema_, "worker")) {
      draft_.worker = {};
      draft_.worker.name = section.part();
      section.read();
      section.demand_none(device_trouble(draft_.worker), "device");
      for (const WorkerSpec& worker : each_worker(draft_.worker)) {
        section.demand(
            names.insert(worker.name).second, "",
            "two workers are called " + toml_quoted(worker.name) + ": give each its own name in [[worker]]");
        draft_.file.worker_specs.push_back(worker);
      }
    }
    if (names.empty() && cluster_ == nullptr)
      source_.refuse("worker", {}, "no worker: write [[worker]] once for each, on a line of its own");
  }

  // What follows from several keys, once all of them are known.
  void finish() {
    Job& job = draft_.file.job;
    draft_.training.put_into(job);
    check_lengths();
    const TomlSection train = section("train");
    train.demand_none(schedule_trouble(job.schedule), "schedule");
    const TomlSection cluster = section("cluster");
    cluster.demand(job.heartbeat_timeout > 2 * job.heartbeat, "heartbeat_timeout",
                   "heartbeat_timeout = " + number_text(job.heartbeat_timeout) +
                       " in [cluster]: give more than two heartbeats, above " +
                       number_text(2 * job.heartbeat));
    job.sync = parse_sync(draft_.sync);
    const auto bad =
        std::ranges::find(bad_gradient_names(), draft_.bad_gradient) - bad_gradient_names().begin();
    job.bad_gradient = static_cast<BadGradient>(bad);
    job.sum_order = draft_.sum_order == "ordered" ? SumOrder::positions : SumOrder::arrival;
    const SyncMode& mode = job.sync;
    job.push_encoding = float_code(draft_.push_encoding);
    job.pull_encoding = float_code(draft_.pull_encoding);
    train.demand_none(optimizer_trouble(draft_.training.optimizer, job.optimizer, mode), "optimizer");
    train.demand_none(outer_trouble(job, mode), "outer_rate");
    cluster.demand_none(code_trouble("push_encoding", job.push_encoding, mode), "push_encoding");
    cluster.demand_none(code_trouble("pull_encoding", job.pull_encoding, mode), "pull_encoding");
    cluster.demand_none(sync_trouble(mode, draft_.file.worker_specs.size()), "sync");
    cluster.demand_none(length_trouble(mode, job.epochs, job.rounds), "sync");
    cluster.demand_none(order_trouble(job.sum_order, mode), "sum_order");
    if (draft_.reproducible) {
      cluster.demand_none(reproducible_trouble(draft_.file, draft_.sync), "reproducible");
      job.sum_order = SumOrder::positions;
      job.grain = nn::largest_micro_batch;  // each grain is computed at once, by one thread
    }
    if (job.epochs > 0) job.schedule.epochs = static_cast<double>(job.epochs);
    job.shards = draft_.file.servers * draft_.shards_per_server;
    cluster.demand(job.shards <= most_connections, "servers",
                   "servers x shards_per_server = " + std::to_string(job.shards) +
                       " in [cluster]: every worker is connected with each of them, and " +
                       std::to_string(most_connections) + " is the most: give fewer");
    cluster.demand(
        job.replicas == 0 || draft_.file.servers > 1, "replicas",
        "replicas = 1 in [cluster]: a copy is in another server than what it is a copy of, and there is "
        "one server: give servers = 2 or more, or leave replicas out");
    job.workers = static_cast<std::uint32_t>(draft_.file.worker_specs.size());
    draft_.file.resolved = resolved_text(draft_);
  }

  void check_lengths() {
    Job& job = draft_.file.job;
    const TomlSection train = section("train");
    if (!train.given("epochs") && (job.rounds > 0 || job.seconds > 0)) job.epochs = 0;
    train.demand(job.epochs > 0 || job.rounds > 0 || job.seconds > 0, "epochs",
                 "training would never end: give [train] epochs, rounds or seconds above 0");
    train.demand(
        job.epochs > 0 || job.rounds > 0 ||
            (job.schedule.warmup == 0 && (job.schedule.kind == nn::Schedule::Kind::constant ||
                                          job.schedule.kind == nn::Schedule::Kind::table)),
        job.schedule.warmup > 0 ? "warmup" : "schedule",
        "a warm-up or a changing learning rate needs the length of the training: give [train] epochs or "
        "rounds beside seconds");
  }

  [[nodiscard]] TomlSection section(const std::string& name) const {
    return TomlSection::of(source_, schema_, name);
  }

  JobSource& source_;
  const ClusterSpec* const cluster_;
  JobDraft draft_;
  const Schema schema_ = schema_of(draft_);
};

// All keys of a section, whether the file had them or not: a resolved job does not change its meaning when a
// default does. But for lists without numbers, which no file has.
std::string key_lines(const Section& section) {
  std::string text;
  for (const Key& key : section.keys) {
    const std::string value = key.name.empty() ? "" : value_text(key);
    if (!value.empty()) text += key.name + " = " + value + "\n";
  }
  return text;
}

std::string option_lines(const std::map<std::string, std::string>& options) {
  std::string text;
  for (const auto& [name, value] : options) text += name + " = " + option_text(value) + "\n";
  return text;
}

}  // namespace

JobFile parse_job(std::string_view text, const std::string& name, const std::vector<std::string>& overrides,
                  const ClusterSpec* cluster) {
  JobSource source(text, name, overrides);
  JobFile file = JobReader(source, cluster).read();
  file.overrides = overrides;
  return file;
}

JobFile read_job_file(const std::string& path, const std::vector<std::string>& overrides,
                      const ClusterSpec* cluster) {
  const InputKind kind{"job file", 32,  // a table of rates may be long

                       "check the name, or begin with a copy of examples/jobs/quick.toml (steelyard help job "
                       "lists all keys)"};
  return parse_job(read_input(path, kind), path, overrides, cluster);
}

std::string memory_note(const JobFile& file) {
  const std::uint64_t batch = file.job.global_batch;
  std::uint64_t hold = 0;
  for (const WorkerSpec& worker : file.worker_specs) {
    const std::uint64_t most = worker.max_batch / file.job.grain * file.job.grain;
    hold += worker.max_batch == 0 ? batch : std::min(most, batch);
  }
  if (hold >= batch || hold == 0) return "";
  return "the workers hold " + std::to_string(hold) + " of the " + std::to_string(batch) +
         " samples of a round at once (max_batch in [[worker]]): each round takes " +
         std::to_string((batch + hold - 1) / hold) + " turns; give them more, or [train] a smaller batch";
}

std::string replica_note(const Job& job) {
  const bool of_compensation = job.sync.compensation != SyncMode::Compensation::none;
  if (job.replicas == 0 || !(job.sync.has_hubs() || of_compensation || job.gradient_limit > 0)) return "";
  const std::string what =
      job.gradient_limit > 0 ? "a gradient_limit" : "sync = \"" + sync_text(job.sync) + '"';
  return "with " + what + " a mirror that is lost is not replaced: of each part of the model one loss is " +
         "survived, not one after another";
}

void set_samples(Job& job, std::uint64_t train, std::uint64_t test) {
  if (train < job.global_batch) {
    refuse_setup("batch = " + std::to_string(job.global_batch) + " in [train]: data set \"" + job.data +
                 "\" has only " + std::to_string(train) + " training samples: give no more than that");
  }
  const SyncMode& mode = job.sync;
  const std::uint64_t steps = steps_of_longest_round(mode, train, job.global_batch, job.epochs);
  if (steps > most_steps_in_round) {
    refuse_setup("sync = \"" + sync_text(mode) + "\" in [cluster]: one round would take " +
                 std::to_string(steps) + " local steps, and " + std::to_string(most_steps_in_round) +
                 " is the most: give [train] a larger batch" +
                 (mode.span == SyncMode::Span::job ? " or fewer epochs, or choose oneshot:epoch" : ""));
  }
  job.train_samples = train;
  job.test_samples = test;
  if (job.rounds == 0) return;
  // The last round of an epoch takes what is left.
  const std::uint64_t batches = mode.batches();
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

std::string resolved_text(JobDraft draft) {
  const Job& job = draft.file.job;
  const Schema schema = schema_of(draft);
  const bool external = job.model == external_model;
  std::string text = external
                         ? "# The job of a script, with every default; model and data come with the script.\n"
                         : "# This job with every default; steelyard train takes it again.\n";
  for (const Section& section : schema.sections) {
    if (section.kind != Section::Kind::one) continue;  // at the end
    if (external && section.name == "data") continue;
    text += "\n[" + section.name + "]\n" + key_lines(section);
    if (section.name == "model") text += option_lines(nn::texts_of(job.model_options));
    if (section.name == "data") text += option_lines(job.data_options);
  }
  if (!job.policy_options.empty())
    text += "\n[policy." + job.policy + "]\n" + option_lines(job.policy_options);
  for (const WorkerSpec& worker : draft.file.worker_specs) {
    draft.worker = worker;
    text += "\n[[worker]]\n" + key_lines(schema.at("worker"));
  }
  return text;
}

std::string job_alone(const std::string& resolved, const std::string& worker) {
  const JobSource source(resolved, "resolved job", {});
  toml::table root = source.root();
  toml::array only;
  for (const toml::node& node : *root["worker"].as_array()) {
    const toml::table& table = *node.as_table();
    if (table["name"].value_or(std::string()) == worker) only.push_back(table);
  }
  root.insert_or_assign("worker", only);
  std::ostringstream text;
  text << "# One worker alone, for `steelyard compare`.\n" << root << "\n";
  return text.str();
}

}  // namespace steelyard
