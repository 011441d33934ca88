// Workloads (include/steelyard/engine.h) for models of nn.
#pragma once

#include <steelyard/engine.h>

#include "core/device_name.h"

namespace steelyard {

// Device, threads and precision for a model of nn.
struct Computing {
  Device device{};       // must exist here (worker/compute/device_choice.h)
  unsigned threads = 1;  // if the device is the CPU
  Precision precision = Precision::float32;
  std::uint64_t max_batch = 0;  // most samples of a share; 0: no limit
  std::uint64_t reserved = 0;   // bytes of the device's memory that stay free for shards
  bool recompute = false;       // activations, in backward (nn/recomputation.h)
};

// Throws Failure (configuration) if the model does not fit the data.
Workload model_workload(nn::Model model, DataSets data, const Computing& computing = {});

}  // namespace steelyard
