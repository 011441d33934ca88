#include "app/config/prepare_job.h"

#include <algorithm>
#include <optional>

#include "app/config/fitting_model.h"
#include "app/config/registry.h"
#include "balancing/policies.h"
#include "core/device_name.h"
#include "core/error.h"
#include "core/text.h"
#include "nn/loss.h"
#include "nn/models.h"
#include "protocol/codec.h"
#include "protocol/limits.h"
#include "worker/data/data_sets.h"
#include "worker/data/targets.h"

namespace steelyard {

bool can_host_shards(const std::string& device) {
  const std::optional<Device> named = device_in(device);
  return named && kind(*named) == DeviceKind::gpu;
}

std::string hosting_trouble(const JobFile& file, bool of_hosts) {
  const std::string place = "servers = \"workers\" in [cluster]: ";
  if (std::ranges::none_of(file.worker_specs, can_host_shards, &WorkerSpec::device)) {
    return place + "GPU workers keep the model, and this job has no GPU worker: give a " +
           (of_hosts ? "worker of the hosts device = \"cuda:0\" (an allocation of Slurm: --gpus-per-node)"
                     : "[[worker]] device = \"cuda:0\"") +
           ", or give a number of servers";
  }
  if (file.job.replicas == 0) return {};
  return place +
         "shards on GPUs have no mirrors: give replicas = 0, with checkpoints (checkpoint_minutes in "
         "[train]), or give a number "
         "of servers";
}

std::string reproducible_trouble(const JobFile& file, const std::string& sync) {
  const Job& job = file.job;
  const std::string place = "reproducible = true in [cluster]: ";
  if (!(job.sync == SyncMode{}))
    return place + "under sync = \"" + sync + "\" the result depends on the speed of workers: choose bsp";
  if (job.push_encoding != FloatCode::float32 || job.pull_encoding != FloatCode::float32)
    return place + "encoded values are not reproducible: leave push_encoding and pull_encoding out";
  if (job.model == "external")
    return place + "workers with an external model may compute different bits: choose a built-in model";
  if (job.statistics == whole_share || job.statistics == 1)
    return place + "every grain is a separate piece, of 2 to " + std::to_string(nn::largest_micro_batch) +
           " samples: give [model] such a grain, or leave grain out";
  for (const WorkerSpec& worker : file.worker_specs) {
    if (worker.device != "cpu" || worker.precision != "float32")
      return place + "worker \"" + worker.name +
             "\" has its own device or precision, which gives different bits: leave them out";
  }
  return {};
}

std::string grain_trouble(const JobFile& file) {
  const Job& job = file.job;
  if (job.statistics == 0) return {};
  if (job.model == external_model)
    return "grain in [model]: the workers bring this model, and set micro_batch in their script: leave grain "
           "out";
  if (job.statistics != whole_share) return {};
  const std::string place = "grain = \"share\" in [model]: ";
  if (job.sync.steals_work)
    return place +
           "a share is computed as a whole, so no part of it can be handed over: give a number, or "
           "sync = \"bsp\"";
  for (const WorkerSpec& worker : file.worker_specs) {
    if (worker.threads != "1")
      return place + "one thread computes a share, and worker \"" + worker.name +
             "\" has threads = " + worker.threads + ": leave threads out";
  }
  return {};
}

namespace {

// Sets the grain that the job gives its model.
void set_grain(nn::Model& model, const Job& job, std::uint64_t max_batch) {
  if (job.statistics == 0) return;
  const bool share = job.statistics == whole_share;
  const std::string place =
      "grain = " + (share ? "\"share\"" : std::to_string(job.statistics)) + " in [model]: ";
  if (model.grain() == 1)
    refuse_setup(place + "model \"" + job.model + "\" has no batch norm: leave grain out");
  if (!share) {
    if (std::ranges::find(nn::micro_batch_sizes, job.statistics) == nn::micro_batch_sizes.end())
      refuse_setup(place + "give a power of two up to " + std::to_string(nn::largest_micro_batch));
    model.compute_at_once(job.statistics);
    return;
  }
  const std::uint64_t most = max_batch == 0 ? job.global_batch : std::min(max_batch, job.global_batch);
  if (most > nn::largest_share)
    refuse_setup(place + "a share is one micro-batch of at most " + std::to_string(nn::largest_share) +
                 " samples, and batch = " + std::to_string(job.global_batch) +
                 " in [train] allows more: give at most that");
  model.normalize_shares(static_cast<std::uint32_t>(most));
}

// Accuracy is a share of right answers.
void require_answers(const Job& job, const nn::Model& model) {
  if (job.target_accuracy == 0 || counts_answers(model.loss())) return;
  refuse_setup("target_accuracy = " + number_text(job.target_accuracy) + " in [train]: with loss = \"" +
               nn::word_of(model.loss()) +
               "\" no answer is right or wrong, so there is no accuracy: leave it out, and limit epochs, "
               "rounds or seconds");
}

// What the loss in [model] makes of labels; nothing if it gives none.
std::optional<LabelKind> labels_wanted(const Job& job) {
  const auto word = job.model_options.find("loss");
  const auto loss = word == job.model_options.end() ? std::nullopt : nn::loss_named(word->second);
  if (!loss || !takes_targets(*loss)) return std::nullopt;
  return *loss == nn::Loss::binary_cross_entropy ? LabelKind::binary : LabelKind::numbers;
}

}  // namespace

OptionTexts data_options_of(const Job& job) {
  OptionTexts options = job.data_options;
  const auto* row = find_choice(job.data, registry().data_sets, built_in_data_sets());
  const auto wanted = labels_wanted(job);
  if (!wanted || row == nullptr ||
      std::ranges::find(row->options, targets_key, &Option::name) == row->options.end())
    return options;
  const auto given = options.try_emplace(targets_key, word_of(*wanted)).first;
  if (*wanted == LabelKind::binary && given->second == word_of(LabelKind::numbers))
    refuse_setup(
        "targets = \"numbers\" in [data]: loss = \"bce\" in [model] takes labels of 0 and 1: leave targets "
        "out, "
        "or choose loss = \"mse\" or \"mae\"");
  return options;
}

Workload workload_of(const Job& job, const Computing& computing) {
  if (job.model == external_model) {
    if (registry().workload) return registry().workload();
    refuse_setup(
        "model 'external' comes with the workers, and this program has no model: start workers with "
        "the program that has it");
  }
  DataSets data = open_data(job.data, data_options_of(job), registry().data_sets);
  if (!is_made_of_layers(job)) {
    if (job.statistics != 0)
      refuse_setup("grain in [model]: model \"" + job.model +
                   "\" has its own engine, which sets it: leave it out");
    Workload workload = make_choice("model", job.model, job.model_options, registry().engines, {}, data);
    workload.data = std::move(data);
    return workload;
  }
  nn::Model model = fitting_model(job, *data.train);
  require_answers(job, model);
  set_grain(model, job, computing.max_batch);
  return model_workload(std::move(model), std::move(data), computing);
}

bool is_made_of_layers(const Job& job) {
  return job.model != external_model && find_choice(job.model, registry().engines, {}) == nullptr;
}

nn::Model model_of(const Job& job, nn::Shape input, std::uint32_t classes) {
  nn::ModelOptions options{input, classes, job.model_options};
  for (const ModelLayer& it : job.model_layers)
    options.layers.push_back({it.kind, it.name, it.inputs, it.options, it.place});
  return nn::make_model(job.model, options, registry().models);
}

ModelDescription described(const Workload& workload) {
  const DataSets& data = workload.data;
  return {.layout = workload.layout,
          .train_samples = data.train->size(),
          .test_samples = data.test ? data.test->size() : 0,
          .labels = data.train->labels(),
          .grain = workload.grain,
          .data = data.name,
          .height = data.train->shape().height,
          .width = data.train->shape().width,
          .channels = data.train->shape().channels,
          .classes = data.train->classes()};
}

namespace {

// All rounds but the last of an epoch consist of whole grains, so at most one share does not.
void check_grain(const Job& job) {
  const std::uint64_t batch = job.global_batch, below = batch / job.grain * job.grain;
  if (below == batch) return;
  refuse_setup("batch = " + std::to_string(batch) + " in [train]: model \"" + job.model +
               "\" computes batch statistics (or a reproducible job its sums) over grains of " +
               std::to_string(job.grain) + " samples, and a round must be a whole number of grains: give " +
               (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + job.grain));
}

// Every process receives the description of the job in one message.
void require_that_it_travels(const Job& job) {
  const Frames frames = encode(Message(std::in_place_type<ToWorker>, Welcome{0, 0, job}));
  const bool fits = frames.header.size() <= largest_header &&
                    std::holds_alternative<Message>(decode(Role::worker, frames.header, {}));
  if (!fits) {
    refuse_setup("the description of job '" + job.name.substr(0, limits::name) + "' takes " +
                 std::to_string(frames.header.size() / 1000 + 1) +
                 " kB, or one of its lists is too long: the limits are " + std::to_string(limits::tensors) +
                 " tensors in a model, " + std::to_string(limits::dimensions) + " dimensions in a tensor, " +
                 std::to_string(limits::label) + " letters in a name, and " +
                 std::to_string(largest_header / 1'000'000) +
                 " MB in all: give the model fewer tensors, or shorten options and names");
  }
}

void require_shards_for(const Job& job) {
  const std::vector<std::uint32_t> borders = shard_borders(job.layout, job.shards);
  for (std::size_t i = 1; i < borders.size(); ++i) {
    if (borders[i] - borders[i - 1] <= limits::slices_of_shard) continue;
    refuse_setup("servers = " + std::to_string(job.shards) + " in [cluster]: a shard would hold " +
                 std::to_string(borders[i] - borders[i - 1]) + " slices of the model, and " +
                 std::to_string(limits::slices_of_shard) + " is the limit: give more servers");
  }
}

void require_steppers(const Job& job) {
  if (!nn::steps_on_workers(job.optimizer)) return;
  const std::string place = "optimizer = \"worker\" in [train]: ";
  if (job.model != external_model)
    refuse_setup(place + "a script takes the steps, and the model '" + job.model +
                 "' has none: choose another optimizer, or join the job from a script");
  if (job.pull_encoding != FloatCode::float32)
    refuse_setup(place +
                 "workers receive gradients, which have no difference to a version before: leave "
                 "pull_encoding out");
}

}  // namespace

void complete(Job& job, const ModelDescription& model) {
  job.layout = nn::layout_for(job.optimizer, model.layout);
  job.labels = model.labels;
  job.layout.slice_size = default_slice_size(job.layout.size(), job.shards);
  job.labels = model.labels;
  const bool own_grain = model.grain > 1 || job.sum_order != SumOrder::positions;
  if (own_grain) job.grain = model.grain;  // otherwise the job file's
  check_grain(job);
  set_samples(job, model.train_samples, model.test_samples);
  (void)slices(job.layout);
  require_steppers(job);
  require_shards_for(job);
  nn::validate(job.optimizer);
  nn::validate(job.schedule);
  (void)policy_of(job);
  require_that_it_travels(job);
}

std::unique_ptr<balancing::Policy> policy_of(const Job& job) {
  auto policy =
      balancing::make_policy(job.policy, job.policy_options, registry().policies, registry().predictors);
  if (job.sync.paced) balancing::require_pacing(job.policy, *policy);
  return policy;
}

std::uint64_t job_fingerprint(const std::string& job_file) {
  if (job_file.empty()) return 0;
  Job job = read_job_file(job_file, {}).job;
  complete(job, described(workload_of(job)));
  return fingerprint(job);
}

}  // namespace steelyard
