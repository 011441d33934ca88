// Workload: what a job trains - parameters, the engine that computes with them, and the data.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/device_name.h"
#include "core/layout.h"
#include "core/options.h"
#include "nn/model.h"
#include "protocol/job.h"
#include "worker/compute/engine.h"
#include "worker/data/data_set.h"

namespace steelyard {

struct Workload {
  Layout layout{};  // slice_size is the job's and stays 0
  // Writes the first parameters: a pure function of the seed.
  std::function<void(std::span<float> parameters, std::uint64_t seed)> initialize{};
  std::function<std::unique_ptr<Engine>()> make_engine{};
  DataSets data{};
  std::uint32_t grain = 1;  // Job::grain
  // What the engine computes, where it is a model of nn: whoever wants scores makes a network of it.
  std::optional<nn::Model> model{};
};

// A row makes the workload of a model that has an engine of its own, for this data. Whatever it throws is
// told with the model's name.
using EngineTable = Choices<Workload(const DataSets& data, const Options& options)>;

// What a model of nn is computed on, and how.
struct Computing {
  Device device{};       // one that is here (worker/compute/device_choice.h)
  unsigned threads = 1;  // of the CPU, where that is the device
  Precision precision = Precision::float32;
};

// A model of nn. Throws Failure (configuration) if it is not made for this data.
Workload model_workload(nn::Model model, DataSets data, const Computing& computing = {});

}  // namespace steelyard
