#include "cli/prepare_job.h"

#include <new>

#include "cli/job_file.h"
#include "core/error.h"

namespace steelyard {

Prepared prepare(const Job& job, const Extensions& extensions) {
  DataSets data = open_data(job.data, job.data_options, extensions.data_sets);
  const nn::ModelOptions options{data.train->shape(), data.train->classes(), job.model_options};
  return {nn::make_model(job.model, options, extensions.models), std::move(data)};
}

void complete(Job& job, const Prepared& prepared, const Extensions& extensions) {
  job.layout = prepared.model.layout();
  job.layout.slice_size = default_slice_size(job.layout.size(), job.shards);
  set_samples(job, prepared.data.train->size(), prepared.data.test ? prepared.data.test->size() : 0);
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
  complete(job, prepare(job, extensions), extensions);
  return fingerprint(job);
}

void require_same(const Job& job, const Prepared& prepared) {
  Layout own = prepared.model.layout();
  own.slice_size = job.layout.slice_size;
  if (own != job.layout) {
    throw Failure(ExitCode::protocol,
                  "the model '" + job.model + "' of this program has " + std::to_string(own.size()) +
                      " parameters in other places than the scheduler's, with " +
                      std::to_string(job.layout.size()) + ": run the same program and release everywhere");
  }
  const std::uint64_t test = prepared.data.test ? prepared.data.test->size() : 0;
  if (prepared.data.train->size() != job.train_samples || test != job.test_samples) {
    throw Failure(ExitCode::protocol,
                  "the data set '" + job.data + "' has " + std::to_string(prepared.data.train->size()) +
                      " + " + std::to_string(test) + " samples here and " +
                      std::to_string(job.train_samples) + " + " + std::to_string(job.test_samples) +
                      " at the scheduler: all workers need the same files");
  }
}

}  // namespace steelyard
