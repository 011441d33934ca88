// KeptData: what the host has of samples that an engine keeps on its device (Engine::kept_data()): their
// labels and targets, and where each sample is. The training samples come first, then those for tests.
//
// Constant after construction: any thread.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/micro_batch.h>

#include <cstdint>
#include <vector>

#include "protocol/messages.h"
#include "worker/data/augmentation.h"

namespace steelyard {

class KeptData {
 public:
  // `labels` and `targets`: of all samples, in the order above.
  KeptData(DataSets data, std::vector<std::uint32_t> labels, std::vector<float> targets);

  // The window of sample `index` of one of the sets.
  [[nodiscard]] nn::KeptSample sample(Purpose purpose, std::uint64_t index, const Window& window) const;

  void labels(const nn::KeptSample& sample, std::uint32_t* into) const;
  void targets(const nn::KeptSample& sample, float* into) const;
  // Reads the input from the data set, with the bits that the device shows. Throws as DataSet::read().
  void read(const nn::KeptSample& sample, float* into) const;

 private:
  const DataSets data_;
  const std::uint64_t train_samples_;
  const std::uint32_t labels_each_, targets_each_;
  const std::vector<std::uint32_t> labels_;
  const std::vector<float> targets_;
};

}  // namespace steelyard
