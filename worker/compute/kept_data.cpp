#include "worker/compute/kept_data.h"

#include <algorithm>
#include <string>
#include <utility>

#include "worker/data/samples.h"

namespace steelyard {

KeptData::KeptData(DataSets data, std::vector<std::uint32_t> labels, std::vector<float> targets)
    : data_(std::move(data)),
      train_samples_(data_.train->size()),
      labels_each_(data_.train->labels()),
      targets_each_(data_.train->targets()),
      labels_(std::move(labels)),
      targets_(std::move(targets)) {}

nn::KeptSample KeptData::sample(Purpose purpose, std::uint64_t index, const Window& window) const {
  return {static_cast<std::uint32_t>(index + (purpose == Purpose::train ? 0 : train_samples_)),
          static_cast<std::int16_t>(window.down), static_cast<std::int16_t>(window.right), window.flipped};
}

void KeptData::labels(const nn::KeptSample& sample, std::uint32_t* into) const {
  std::copy_n(labels_.data() + std::uint64_t{sample.index} * labels_each_, labels_each_, into);
}

void KeptData::targets(const nn::KeptSample& sample, float* into) const {
  std::copy_n(targets_.data() + std::uint64_t{sample.index} * targets_each_, targets_each_, into);
}

void KeptData::read(const nn::KeptSample& sample, float* into) const {
  const bool training = sample.index < train_samples_;
  const DataSet& data = training ? *data_.train : *data_.test;
  const Window window{sample.down, sample.right, sample.flipped};
  std::vector<float> whole(data.shape().size());
  std::vector<std::uint32_t> labels(labels_each_);
  std::vector<float> targets(targets_each_);
  const std::uint64_t index = sample.index - (training ? 0 : train_samples_);
  read_sample(data, index, whole.data(), labels.data(), targets.data(),
              [&] { return (training ? "training sample " : "test sample ") + std::to_string(index); });
  take_window(window, data.shape(), data_.augmentation.fill, whole.data(), into);
}

}  // namespace steelyard
