#include "worker/compute/same_model.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "nn/optimizer/rule.h"

namespace steelyard {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Failure(ExitCode::protocol, message); }

void require_samples(const char* which, const std::string& data, std::uint64_t here, std::uint64_t in_job) {
  if (here == in_job || in_job == 0) return;  // 0: the job does not specify it
  refuse("the " + std::string(which) + " set of data set '" + data + "' has " + std::to_string(here) +
         " samples here and " + std::to_string(in_job) +
         " in the job: use the same data, with the same options, on all machines");
}

// The first difference of two layouts, as text.
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

void require_same(const Job& job, const Workload& workload) {
  Layout own = nn::layout_for(job.optimizer, workload.layout);
  own.slice_size = job.layout.slice_size;
  if (own != job.layout) {
    refuse("the model '" + job.model + "' of this program has " + std::to_string(own.size()) +
           " parameters in other places than the scheduler's, with " + std::to_string(job.layout.size()) +
           " (" + difference(own, job.layout) +
           "): run the same program, of the same release, on all machines");
  }
  const DataSets& data = workload.data;
  require_samples("training", job.data, data.train->size(), job.train_samples);
  require_samples("test", job.data, data.test ? data.test->size() : 0, job.test_samples);
}

}  // namespace steelyard
