// Workloads (include/steelyard/engine.h) of the models of nn, and whether one is what the job is about.
#pragma once

#include <steelyard/engine.h>

#include "core/device_name.h"

namespace steelyard {

struct Job;

// What a model of nn is computed on, and how.
struct Computing {
  Device device{};       // one that is here (worker/compute/device_choice.h)
  unsigned threads = 1;  // of the CPU, where that is the device
  Precision precision = Precision::float32;
};

// A model of nn. Throws Failure (configuration) if it is not made for this data.
Workload model_workload(nn::Model model, DataSets data, const Computing& computing = {});

// Whether the workload, as it is known here, is what the job's other members train. A worker may have been
// started with other data, another release or other models of its own; its gradients would be sums of
// something else. Throws Failure (protocol) that says what differs.
void require_same(const Job& job, const Workload& workload);

}  // namespace steelyard
