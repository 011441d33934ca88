// Whether a worker has the model and data that the job is about.
#pragma once

#include "protocol/job.h"
#include "worker/compute/workload.h"

namespace steelyard {

// Whether the workload, as it is known here, is what the job's other members train. A worker may have been
// started with other data, another release or other models of its own; its gradients would be sums of
// something else. Throws Failure (protocol) that says what differs.
void require_same(const Job& job, const Workload& workload);

}  // namespace steelyard
