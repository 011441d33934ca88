// What is said of a model that a worker brings along.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/interval.h"
#include "core/layout.h"
#include "protocol/blob.h"

namespace steelyard {

// A job may leave its model and data to the workers. Then the scheduler asks the first one that says Hello,
// before any node is welcomed: what do you train? And, part by part: from which weights?
struct AskModel {};
struct ModelDescription {  // worker -> scheduler
  Layout layout;           // slice_size is the scheduler's and stays 0
  std::uint64_t train_samples = 0, test_samples = 0;
  std::uint32_t labels = 1;                   // of each sample
  std::uint32_t grain = 1;                    // Job::grain
  std::string data{};                         // what people call it
  std::string data_hash{};                    // of some training samples; checkpoints keep it
  std::vector<double> mean{0}, deviation{1};  // how inputs were made of raw values: of all, or by channel
  // Of a sample: 0 where the worker's program does not say.
  std::uint32_t height = 0, width = 0, channels = 0, classes = 0;
  // A job file's text: how it is to be trained, as the worker's program says. Empty: as the scheduler's does.
  std::string job{};
};
struct AskWeights {  // scheduler -> worker: the first weights of these floats, drawn with this seed
  std::uint64_t seed = 0;
  Interval floats;
};
struct Weights {  // worker -> scheduler
  Interval floats;
  Blob values;
};

}  // namespace steelyard
