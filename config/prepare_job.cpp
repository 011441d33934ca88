#include "config/prepare_job.h"

#include <new>

#include "config/job_file.h"
#include "core/error.h"

namespace steelyard {

Workload workload_of(const Job& job, const Extensions& extensions) {
  if (job.model == external_model) {
    if (extensions.workload) return extensions.workload();
    throw Failure(ExitCode::configuration,
                  "model 'external' comes with the workers, and this program brings none: start workers with "
                  "the program that has the model");
  }
  DataSets data = open_data(job.data, job.data_options, extensions.data_sets);
  if (find_choice(job.model, extensions.engines, {}) != nullptr) {
    Workload workload =
        make_choice("model", job.model, nn::texts_of(job.model_options), extensions.engines, {}, data);
    workload.data = std::move(data);
    return workload;
  }
  const nn::ModelOptions options{data.train->shape(), data.train->classes(), job.model_options};
  return cpu_workload(nn::make_model(job.model, options, extensions.models), std::move(data));
}

ModelDescription described(const Workload& workload) {
  const DataSets& data = workload.data;
  return {.layout = workload.layout,
          .train_samples = data.train->size(),
          .test_samples = data.test ? data.test->size() : 0,
          .labels = data.train->labels(),
          .data = data.name};
}

void complete(Job& job, const ModelDescription& model, const Extensions& extensions) {
  job.layout = nn::layout_for(job.optimizer, model.layout);
  job.labels = model.labels;
  job.layout.slice_size = default_slice_size(job.layout.size(), job.shards);
  set_samples(job, model.train_samples, model.test_samples);
  (void)slices(job.layout);
  nn::validate(job.optimizer);
  nn::validate(job.schedule);
  (void)balancing::make_policy(job.policy, job.policy_options, extensions.policies, extensions.predictors);
}

void within_memory(const std::string& role, const Job& job, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw Failure(
        ExitCode::failed,
        "there is not enough memory for " + role + ": model '" + job.model + "' has " +
            std::to_string(job.layout.size()) + " parameters, " +
            std::to_string(job.layout.size() * sizeof(float) / 1'000'000 + 1) +
            " MB, and it holds them several times: make the model smaller, or use a larger machine");
  }
}

std::uint64_t job_fingerprint(const std::string& job_file, const Extensions& extensions) {
  if (job_file.empty()) return 0;
  Job job = read_job_file(job_file, {}, extensions).job;
  complete(job, described(workload_of(job, extensions)), extensions);
  return fingerprint(job);
}

}  // namespace steelyard
