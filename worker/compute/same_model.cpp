#include "worker/compute/same_model.h"

#include <string>

#include "core/error.h"
#include "nn/optimizer/rule.h"

namespace steelyard {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Failure(ExitCode::protocol, message); }

void require_samples(const char* which, const std::string& data, std::uint64_t here, std::uint64_t in_job) {
  if (here == in_job || in_job == 0) return;  // 0: the job does not say
  refuse("the " + std::string(which) + " set of data set '" + data + "' has " + std::to_string(here) +
         " samples here and " + std::to_string(in_job) +
         " in the job: use the same data, with the same options, on all machines");
}

}  // namespace

void require_same(const Job& job, const Workload& workload) {
  Layout own = nn::layout_for(job.optimizer, workload.layout);
  own.slice_size = job.layout.slice_size;
  if (own != job.layout) {
    refuse("the model '" + job.model + "' of this program has " + std::to_string(own.size()) +
           " parameters in other places than the scheduler's, with " + std::to_string(job.layout.size()) +
           ": run the same program, of the same release, on all machines");
  }
  const DataSets& data = workload.data;
  require_samples("training", job.data, data.train->size(), job.train_samples);
  require_samples("test", job.data, data.test ? data.test->size() : 0, job.test_samples);
}

}  // namespace steelyard
