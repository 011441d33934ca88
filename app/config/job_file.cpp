#include "app/config/job_file.h"

#include <steelyard/micro_batch.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "app/config/choices.h"
#include "app/config/job_keys.h"
#include "app/config/job_source.h"
#include "app/config/prepare_job.h"
#include "app/config/registry.h"
#include "app/config/toml_section.h"
#include "balancing/policies.h"
#include "core/device_name.h"
#include "core/error.h"
#include "nn/models.h"
#include "protocol/local_steps.h"
#include "protocol/node.h"
#include "protocol/sync_limits.h"
#include "transport/zmq.h"

namespace steelyard {
namespace {

// With more than 250 workers each sends heartbeats less often, so that 500 a second reach the scheduler.
double heartbeat_among(const Job& job) {
  return std::max(job.heartbeat, std::min(0.002 * job.workers, job.heartbeat_timeout / 5));
}

// A shard has a thread, and a GPU's rounds are too short for one thread to take all steps of a model.
constexpr std::uint32_t shards_beside_gpus = 4;

bool has_gpu(const std::vector<WorkerSpec>& workers) {
  return std::ranges::any_of(workers, [](const WorkerSpec& worker) {
    const std::optional<Device> device = device_in(worker.device);
    return device && device->type == Device::Type::cuda;
  });
}

// Reads one file, section by section, into a draft.
class JobReader {
 public:
  // `name` is the job's, unless the file has one; empty: the default.
  JobReader(JobSource& source, const ClusterSpec* cluster, const std::string& name)
      : source_(source), cluster_(cluster) {
    if (!name.empty()) draft_.file.job.name = name;
  }

  JobFile read() {
    check_kind();
    source_.rename_former(schema_);
    draft_.file.notices = source_.notices();
    TomlSection::check_all(source_, schema_);
    for (const Section& it : schema_.sections) {
      if (it.kind == Section::Kind::one) section(it.name).read();
    }
    const Job& job = draft_.file.job;
    read_layers();
    section("model").demand_none(model_trouble(job.model, job.model_options), "name");
    section("data").demand_none(data_trouble(job.data, job.data_options), "name");
    read_policies();
    read_workers();
    if (cluster_ != nullptr) {
      if (placed_servers()) {
        draft_.servers = std::to_string(cluster_->servers);
        draft_.shards_per_server = 1;
      }
      draft_.file.worker_specs = cluster_->workers;
    }
    if (draft_.servers != on_workers) draft_.file.servers = number_in<std::uint32_t>(draft_.servers).value();
    finish();
    return std::move(draft_.file);
  }

 private:
  // Reports a scenario as such, not by its first unknown key. With [train] or [cluster] it is a job with an
  // error.
  void check_kind() const {
    const std::string sign = scenario_sign(source_);
    if (sign.empty() || source_.root().contains("train") || source_.root().contains("cluster")) return;
    source_.refuse("", {},
                   "this is a scenario: it has " + sign +
                       ": run it with `steelyard simulate`, or give a job (steelyard help job)");
  }
  // The layers of model "layers", which is the default if there are any.
  void read_layers() {
    Job& job = draft_.file.job;
    const TomlSection model = section("model");
    for (const TomlSection& layer : model.all_below("layer")) {
      draft_.layer = {};
      layer.read();
      layer.demand(!draft_.layer.kind.empty(), "kind",
                   "[[model.layer]] has no kind: give one, as in kind = \"linear\" (steelyard help layers)");
      layer.demand_none(layer_trouble(draft_.layer.kind, draft_.layer.options), "kind");
      draft_.layer.place = layer.place("kind");
      job.model_layers.push_back(draft_.layer);
    }
    if (!job.model_layers.empty() && !model.given("name")) job.model = nn::model_of_layers;
    if (job.model == nn::model_of_layers) {
      model.demand(!job.model_layers.empty(), "name",
                   "model \"layers\" has no layer: write [[model.layer]] for each (steelyard help layers)");
    } else {
      model.demand(job.model_layers.empty(), "name",
                   "model " + toml_quoted(job.model) +
                       " has layers of its own: leave [[model.layer]] out, or give name = \"layers\"");
    }
  }
  // A file may have options for several policies, for --set cluster.policy=... to choose from. All are
  // checked; those of the chosen policy are used.
  void read_policies() {
    Job& job = draft_.file.job;
    const std::vector<std::string> known = balancing::policy_names(registry().policies);
    section("cluster").demand_none(policy_trouble(job.policy, {}, known), "policy");
    for (const TomlSection& policy : TomlSection::all_of(source_, schema_, "policy")) {
      draft_.policy_options.clear();
      policy.read();
      policy.demand_none(policy_trouble(policy.part(), draft_.policy_options, known), "");
      if (policy.part() == job.policy) job.policy_options = draft_.policy_options;
    }
  }
  // Default names are filled in before names are compared: a given name may equal another worker's default.
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
            "two workers are named " + toml_quoted(worker.name) + ": give each its own name in [[worker]]");
        draft_.file.worker_specs.push_back(worker);
      }
    }
    if (names.empty() && cluster_ == nullptr)
      source_.refuse("worker", {}, "no worker: write [[worker]] once for each, on a line of its own");
  }

  // Checks and settings that involve several keys.
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
    cluster.demand_none(profile_trouble(), "profile_ms");
    train.demand_none(optimizer_trouble(draft_.training.optimizer, job.optimizer, mode), "optimizer");
    train.demand_none(outer_trouble(job, mode), "outer_rate");
    cluster.demand_none(code_trouble("push_encoding", job.push_encoding, mode), "push_encoding");
    cluster.demand_none(code_trouble("pull_encoding", job.pull_encoding, mode), "pull_encoding");
    cluster.demand_none(sync_trouble(mode, draft_.file.worker_specs.size()), "sync");
    cluster.demand_none(length_trouble(mode, job.epochs, job.rounds), "sync");
    cluster.demand_none(order_trouble(job.sum_order, mode), "sum_order");
    section("model").demand_none(grain_trouble(draft_.file), "grain");
    if (draft_.reproducible) {
      cluster.demand_none(reproducible_trouble(draft_.file, draft_.sync), "reproducible");
      job.sum_order = SumOrder::positions;
      job.grain = nn::largest_micro_batch;  // one thread computes each grain as one micro-batch
    }
    if (job.epochs > 0) job.schedule.epochs = static_cast<double>(job.epochs);
    if (draft_.servers == on_workers) {
      cluster.demand_none(hosting_trouble(draft_.file, cluster_ != nullptr), "servers");
      draft_.file.servers = static_cast<std::uint32_t>(
          std::ranges::count_if(draft_.file.worker_specs, can_host_shards, &WorkerSpec::device));
      draft_.file.shards_per_worker = draft_.shards_per_server;
    }
    const bool counted =
        cluster.given("shards_per_server") || placed_servers() || draft_.servers == on_workers;
    if (!counted && has_gpu(draft_.file.worker_specs)) draft_.shards_per_server = shards_beside_gpus;
    job.shards = draft_.file.servers * draft_.shards_per_server;
    cluster.demand(job.shards <= most_connections, "servers",
                   "servers x shards_per_server = " + std::to_string(job.shards) +
                       " in [cluster]: every worker connects to each of them, and the limit is " +
                       std::to_string(most_connections) + ": give fewer");
    cluster.demand(
        job.replicas == 0 || draft_.file.servers > 1, "replicas",
        "replicas = 1 in [cluster]: a mirror must be in another server than its shard, and there is only "
        "one server: give servers = 2 or more, or leave replicas out");
    job.workers = static_cast<std::uint32_t>(draft_.file.worker_specs.size());
    job.heartbeat = heartbeat_among(job);
    draft_.file.resolved = resolved_text(draft_);
  }

  // The servers are those of a hosts file, not of the job file.
  [[nodiscard]] bool placed_servers() const { return cluster_ != nullptr && cluster_->servers > 0; }

  // Fills Job::curves. Returns why the text is invalid; empty: it is valid.
  std::string profile_trouble() {
    if (draft_.profile_ms.empty()) return {};
    try {
      for (const balancing::Profile::Line& line : balancing::curves_in(draft_.profile_ms, "profile_ms")) {
        if (line.name.empty())
          return "profile_ms: a curve has no name: give \"WORKER: NUMBERS\", separated by semicolons";
        draft_.file.job.curves.push_back({line.name, {line.curve.terms.begin(), line.curve.terms.end()}});
      }
    } catch (const Failure& failure) {
      return failure.what();
    }
    return {};
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

// All keys of a section, also those not in the file, so that a resolved job keeps its meaning if a default
// changes. Empty lists and texts are left out, since no file can have them.
std::string key_lines(const Section& section) {
  std::string text;
  for (const Key& key : section.keys) {
    const std::string value = key.name.empty() ? "" : value_text(key);
    if (!value.empty() && value != toml_quoted("")) text += key.name + " = " + value + "\n";
  }
  return text;
}

std::string option_lines(const std::map<std::string, std::string>& options) {
  std::string text;
  for (const auto& [name, value] : options) text += name + " = " + option_text(value) + "\n";
  return text;
}

// "my job.toml" -> "my-job". Empty for other files, such as /dev/stdin.
std::string name_after(const std::string& file) {
  const std::filesystem::path path(file);
  if (path.extension() != ".toml") return "";
  std::string name = path.stem().string().substr(0, longest_name);
  std::ranges::replace_if(
      name, [](char c) { return !is_plain_name(std::string("a") + c); }, '-');
  if (!name.empty() && !is_plain_name(name)) name[0] = '_';
  return name;
}

std::string layer_lines(JobDraft& draft) {
  std::string text;
  const Schema schema = schema_of(draft);
  for (const ModelLayer& layer : draft.file.job.model_layers) {
    draft.layer = layer;
    text += "\n[[model.layer]]\n" + key_lines(schema.at("model.layer")) + option_lines(layer.options);
  }
  return text;
}

}  // namespace

JobFile parse_job(std::string_view text, const std::string& name, const std::vector<std::string>& overrides,
                  const ClusterSpec* cluster) {
  JobSource source(text, name, overrides);
  JobFile file = JobReader(source, cluster, name_after(name)).read();
  file.overrides = overrides;
  return file;
}

JobFile read_job_file(const std::string& path, const std::vector<std::string>& overrides,
                      const ClusterSpec* cluster) {
  const InputKind kind{"job file", 32,  // a table of rates may be long

                       "check the name, or start with a copy of examples/jobs/quick.toml (steelyard help job "
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
         std::to_string((batch + hold - 1) / hold) +
         " turns; raise max_batch, or give [train] a smaller batch";
}

std::string replica_note(const Job& job) {
  const bool of_compensation = job.sync.compensation != SyncMode::Compensation::none;
  if (job.replicas == 0 || !(job.sync.has_hubs() || of_compensation || job.gradient_limit > 0)) return "";
  const std::string what =
      job.gradient_limit > 0 ? "a gradient_limit" : "sync = \"" + sync_text(job.sync) + '"';
  return "with " + what + " a lost mirror is not replaced: each shard survives one loss of a server, and " +
         "not a second one";
}

void set_samples(Job& job, std::uint64_t train, std::uint64_t test) {
  if (train < job.global_batch) {
    refuse_setup("batch = " + std::to_string(job.global_batch) + " in [train]: data set \"" + job.data +
                 "\" has only " + std::to_string(train) + " training samples: give at most that many");
  }
  const SyncMode& mode = job.sync;
  const std::uint64_t steps = steps_of_longest_round(mode, train, job.global_batch, job.epochs);
  if (steps > most_steps_in_round) {
    refuse_setup("sync = \"" + sync_text(mode) + "\" in [cluster]: one round would take " +
                 std::to_string(steps) + " local steps, and the limit is " +
                 std::to_string(most_steps_in_round) + ": give [train] a larger batch" +
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
                         ? "# The job of a script, with all defaults; the script brings model and data.\n"
                         : "# The job with all defaults; steelyard train can run it again.\n";
  for (const Section& section : schema.sections) {
    if (section.kind != Section::Kind::one) continue;  // at the end
    if (external && section.name == "data") continue;
    text += "\n[" + section.name + "]\n" + key_lines(section);
    if (section.name == "model") text += option_lines(job.model_options) + layer_lines(draft);
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
  // A worker without a GPU cannot host the shards.
  toml::table& cluster = *root["cluster"].as_table();
  const auto device = only.get(0)->as_table()->get("device")->value_or(std::string());
  if (cluster["servers"].value_or(std::string()) == on_workers && !can_host_shards(device))
    cluster.insert_or_assign("servers", 1);
  std::ostringstream text;
  text << "# One worker alone, for `steelyard compare`.\n" << root << "\n";
  return text.str();
}

}  // namespace steelyard
