// Workloads (include/steelyard/engine.h) of the models of nn.
#pragma once

#include <steelyard/engine.h>

#include "core/device_name.h"

namespace steelyard {

// What a model of nn is computed on, and how.
struct Computing {
  Device device{};       // one that is here (worker/compute/device_choice.h)
  unsigned threads = 1;  // of the CPU, where that is the device
  Precision precision = Precision::float32;
};

// A model of nn. Throws Failure (configuration) if it is not made for this data.
Workload model_workload(nn::Model model, DataSets data, const Computing& computing = {});

}  // namespace steelyard
