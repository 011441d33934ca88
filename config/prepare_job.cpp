#include "config/prepare_job.h"

#include "config/job_file.h"
#include "core/error.h"

namespace steelyard {

Workload workload_of(const Job& job, const Extensions& extensions, const Computing& computing) {
  if (job.model == external_model) {
    if (extensions.workload) return extensions.workload();
    throw Failure(ExitCode::configuration,
                  "model 'external' comes with the workers, and this program brings none: start workers with "
                  "the program that has the model");
  }
  DataSets data = open_data(job.data, job.data_options, extensions.data_sets);
  if (!is_made_of_layers(job, extensions)) {
    Workload workload =
        make_choice("model", job.model, nn::texts_of(job.model_options), extensions.engines, {}, data);
    workload.data = std::move(data);
    return workload;
  }
  nn::Model model = model_of(job, data.train->shape(), data.train->classes(), extensions);
  return model_workload(std::move(model), std::move(data), computing);
}

bool is_made_of_layers(const Job& job, const Extensions& extensions) {
  return job.model != external_model && find_choice(job.model, extensions.engines, {}) == nullptr;
}

nn::Model model_of(const Job& job, nn::Shape input, std::uint32_t classes, const Extensions& extensions) {
  return nn::make_model(job.model, nn::ModelOptions{input, classes, job.model_options}, extensions.models);
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

// Every round but the last of an epoch is made of whole grains, so all but one share are.
void check_grain(const Job& job) {
  const std::uint64_t batch = job.global_batch, below = batch / job.grain * job.grain;
  if (below == batch) return;
  throw Failure(ExitCode::configuration,
                "batch = " + std::to_string(batch) + " in [train]: model \"" + job.model +
                    "\" takes its batch statistics (or a reproducible job its sums) over grains of " +
                    std::to_string(job.grain) + " samples, and a round is a whole number of them: give " +
                    (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + job.grain));
}

}  // namespace

void complete(Job& job, const ModelDescription& model, const Extensions& extensions) {
  job.layout = nn::layout_for(job.optimizer, model.layout);
  job.labels = model.labels;
  job.layout.slice_size = default_slice_size(job.layout.size(), job.shards);
  job.labels = model.labels;
  const bool own_grain = model.grain > 1 || job.sums != SumOrder::positions;
  if (own_grain) job.grain = model.grain;  // otherwise the job file's
  check_grain(job);
  set_samples(job, model.train_samples, model.test_samples);
  (void)slices(job.layout);
  nn::validate(job.optimizer);
  nn::validate(job.schedule);
  (void)policy_of(job, extensions);
}

std::unique_ptr<balancing::Policy> policy_of(const Job& job, const Extensions& extensions) {
  auto policy =
      balancing::make_policy(job.policy, job.policy_options, extensions.policies, extensions.predictors);
  if (job.sync.paced) balancing::require_pacing(job.policy, *policy);
  return policy;
}

std::uint64_t job_fingerprint(const std::string& job_file, const Extensions& extensions) {
  if (job_file.empty()) return 0;
  Job job = read_job_file(job_file, {}, extensions).job;
  complete(job, described(workload_of(job, extensions)), extensions);
  return fingerprint(job);
}

}  // namespace steelyard
