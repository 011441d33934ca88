// All built-in models at the sizes of inputs that they were published for, and at small ones; and random
// samples.
#pragma once

#include <steelyard/micro_batch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "nn/models.h"

namespace steelyard::bench {

struct GpuModel {
  std::string name;  // in the table of models
  nn::ModelOptions published;
  std::uint32_t samples;  // of a micro-batch whose gradient the processor computes within seconds
  nn::ModelOptions small;
  std::uint32_t small_samples = 2;
  std::uint32_t tokens = 0;  // inputs are numbers of tokens below this; 0: pictures
};
// Every model but `layers`, which has none of its own.
const std::vector<GpuModel>& gpu_models();
// Throws Failure for a name that is not in the table.
const GpuModel& gpu_model(const std::string& name);

class RandomSamples {
 public:
  RandomSamples(const nn::Model& model, std::uint32_t count, std::uint32_t tokens);

  // The first `size` samples, the first `count` of which are real. Valid as long as this object.
  [[nodiscard]] nn::MicroBatch batch(std::uint32_t size, std::uint32_t count) const;

 private:
  std::vector<float> inputs_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::uint64_t> positions_;
};

}  // namespace steelyard::bench
