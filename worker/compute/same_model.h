// Checks that a worker has the job's model and data.
#pragma once

#include "protocol/job.h"
#include "worker/compute/workload.h"

namespace steelyard {

// Checks that the local workload is what the job's other members train. A worker may have been started with
// other data, another release or other user models; its gradients would then be meaningless. Throws Failure
// (protocol) that names the difference.
void require_same(const Job& job, const Workload& workload);

}  // namespace steelyard
