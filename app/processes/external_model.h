// An external model: layout, first weights and data of a job that come with its workers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transport/link.h"
#include "worker/compute/workload.h"
#include "worker/worker.h"

namespace steelyard {

// In the data options of an external job: ModelDescription::data_hash of the worker that told it.
inline constexpr char data_mark[] = "mark";

struct WorkersModel {
  ModelDescription description;
  std::vector<float> weights;
};

// The scheduler's side: stands in for it on this link until a worker has told all, and says what happens.
// Nothing if the job is to end before that, or a process of it is gone for good. Blocks.
std::optional<WorkersModel> model_of_workers(Link& link, std::uint64_t seed,
                                             const std::function<void(const std::string&)>& say);

// The worker's side: answers from this workload. Reads a few samples.
Worker::Options::Model model_to_tell(const Workload& workload);

}  // namespace steelyard
