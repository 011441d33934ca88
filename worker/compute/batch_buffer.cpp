#include "worker/compute/batch_buffer.h"

#include <algorithm>

#include "core/check.h"
#include "core/random.h"
#include "worker/data/data_sets.h"

namespace steelyard {

SampleOrder::SampleOrder(const DataSets& data, Purpose purpose, std::uint64_t seed, std::uint64_t epoch)
    : data_(purpose == Purpose::train ? data.train : data.test),
      name_(data.name),
      augmentation_(purpose == Purpose::train ? data.augmentation : Augmentation()),
      shuffled_(purpose == Purpose::train),
      seed_(seed),
      epoch_(epoch),
      permutation_(data_->size(), hash(seed, epoch)) {}

void SampleOrder::read(Position position, float* into, std::uint32_t* labels, float* scratch) const {
  read_sample(*data_, sample(position), into, labels, [&] { return place(position); });
  if (augmentation_.any()) augment(augmentation_, data_->shape(), seed_, epoch_, position, into, scratch);
}

std::string SampleOrder::place(Position position) const {
  return "data set '" + name_ + "', " + (shuffled_ ? "training" : "test") + " sample " +
         std::to_string(sample(position)) +
         (shuffled_
              ? " (position " + std::to_string(position) + " of epoch " + std::to_string(epoch_ + 1) + ")"
              : "");
}

BatchBuffer::BatchBuffer(nn::Shape shape, std::uint32_t labels, std::vector<std::uint32_t> sizes)
    : sample_size_(shape.size()),
      labels_each_(labels),
      sizes_(std::move(sizes)),
      inputs_(shape.size() * sizes_.at(0)),
      scratch_(shape.size()),
      labels_(labels_each_ * sizes_.at(0)),
      positions_(sizes_.at(0)) {}

// The smallest size of micro-batch that holds so many samples; the largest if none does.
std::uint32_t BatchBuffer::size_for(std::uint64_t samples) const {
  std::uint32_t best = sizes_.front();
  for (const std::uint32_t size : sizes_) {
    if (size >= samples) best = size;
  }
  return best;
}

const nn::MicroBatch& BatchBuffer::fill(const SampleOrder& order, Interval positions) {
  // Whoever takes positions from outside checks them before; here it is too late to refuse.
  CHECK(positions.begin < positions.end && positions.end <= order.data().size(),
        "a micro-batch reaches beyond its data set");
  const std::uint32_t size = size_for(positions.size());
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, positions.size()));
  for (std::uint32_t i = 0; i < count; ++i) {
    positions_[i] = positions.begin + i;
    order.read(positions_[i], inputs_.data() + i * sample_size_, labels_.data() + i * labels_each_,
               scratch_.data());
  }
  // Padding is always the same, so that nothing depends on what the buffer was used for before.
  for (std::uint32_t i = count; i < size; ++i) {
    positions_[i] = 0;
    std::fill_n(labels_.data() + i * labels_each_, labels_each_, 0U);
    std::fill_n(inputs_.data() + i * sample_size_, sample_size_, 0.0F);
  }
  batch_ = {.inputs = inputs_.data(),
            .labels = labels_.data(),
            .positions = positions_.data(),
            .size = size,
            .count = count,
            .seed = order.seed(),
            .epoch = order.epoch()};
  return batch_;
}

}  // namespace steelyard
