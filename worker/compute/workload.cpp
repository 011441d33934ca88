#include "worker/compute/workload.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "nn/optimizer/rule.h"
#include "protocol/job.h"
#include "worker/compute/engines.h"
#include "worker/compute/parallel_engine.h"

namespace steelyard {
namespace {

std::unique_ptr<Engine> cpu_engine(const nn::Model& model, unsigned threads) {
  CHECK(threads > 0, "an engine computes with a thread");
  if (threads == 1) return std::make_unique<CpuEngine>(model);
  std::vector<std::unique_ptr<Engine>> engines;
  for (unsigned i = 0; i < threads; ++i) engines.push_back(std::make_unique<CpuEngine>(model));
  return std::make_unique<ParallelEngine>(std::move(engines),
                                          ParallelEngine::SampleSize{model.input().size(), model.labels()});
}

std::unique_ptr<Engine> engine_of(const nn::Model& model, const Computing& computing) {
  if (computing.device.type == Device::Type::cpu) return cpu_engine(model, computing.threads);
  return make_cuda_engine(model, computing.device, computing.precision);
}

[[noreturn]] void refuse_workload(const std::string& message) { throw Failure(ExitCode::protocol, message); }

void require_samples(const char* which, const std::string& data, std::uint64_t here, std::uint64_t in_job) {
  if (here == in_job || in_job == 0) return;  // 0: the job does not say
  refuse_workload("the " + std::string(which) + " set of data set '" + data + "' has " +
                  std::to_string(here) + " samples here and " + std::to_string(in_job) +
                  " in the job: use the same data, with the same options, on all machines");
}

// The first thing in which two layouts differ, for people.
std::string difference(const Layout& here, const Layout& in_job) {
  const std::size_t both = std::min(here.tensors.size(), in_job.tensors.size());
  for (std::size_t i = 0; i < both; ++i) {
    const TensorPlace &own = here.tensors[i], &other = in_job.tensors[i];
    if (own == other) continue;
    return "tensor " + std::to_string(i) + " is '" + own.name + "' of " + std::to_string(own.size()) +
           " numbers here, and '" + other.name + "' of " + std::to_string(other.size()) + " there";
  }
  if (here.tensors.size() != in_job.tensors.size()) {
    return std::to_string(here.tensors.size()) + " tensors here, and " +
           std::to_string(in_job.tensors.size()) + " there";
  }
  return "rules, rates or decays of tensors differ";
}

}  // namespace

Workload model_workload(nn::Model model, DataSets data, const Computing& computing) {
  model.check();
  model.multiply_in(computing.precision);
  const DataSet& train = *data.train;
  const auto taken = [](nn::Shape shape, std::uint32_t classes, std::uint32_t labels) {
    return to_string(shape) + " in " + std::to_string(classes) + " classes" +
           (labels == 1 ? "" : ", with " + std::to_string(labels) + " labels each");
  };
  if (train.shape() != model.input() || train.classes() != model.classes() ||
      train.labels() != model.labels()) {
    refuse_setup("the model takes samples of " + taken(model.input(), model.classes(), model.labels()) +
                 ", data set '" + data.name + "' has " +
                 taken(train.shape(), train.classes(), train.labels()) +
                 ": make the model for this data set");
  }
  return {.layout = model.layout(),
          .initialize = [model](std::span<float> parameters,
                                std::uint64_t seed) { model.initialize(parameters, seed); },
          .make_engine = [model, computing] { return engine_of(model, computing); },
          .data = std::move(data),
          .grain = model.grain(),
          .model = model};
}

void require_same(const Job& job, const Workload& workload) {
  Layout own = nn::layout_for(job.optimizer, workload.layout);
  own.slice_size = job.layout.slice_size;
  if (own != job.layout) {
    refuse_workload("the model '" + job.model + "' of this program has " + std::to_string(own.size()) +
                    " parameters in other places than the scheduler's, with " +
                    std::to_string(job.layout.size()) + " (" + difference(own, job.layout) +
                    "): run the same program, of the same release, on all machines");
  }
  const DataSets& data = workload.data;
  require_samples("training", job.data, data.train->size(), job.train_samples);
  require_samples("test", job.data, data.test ? data.test->size() : 0, job.test_samples);
}

}  // namespace steelyard
