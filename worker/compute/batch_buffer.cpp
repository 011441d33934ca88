#include "worker/compute/batch_buffer.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/check.h"
#include "worker/data/samples.h"

namespace steelyard {

SampleOrder::SampleOrder(const DataSets& data, Purpose purpose, std::uint64_t seed, std::uint64_t epoch)
    : data_(purpose == Purpose::train ? data.train : data.test),
      name_(data.name),
      augmentation_(purpose == Purpose::train ? data.augmentation : Augmentation()),
      shuffled_(purpose == Purpose::train),
      seed_(seed),
      epoch_(epoch),
      permutation_(data_->size(), hash(seed, epoch)) {}

Window SampleOrder::window(Position position) const {
  return augmentation_.any() ? window_of(augmentation_, seed_, epoch_, position) : Window();
}

void SampleOrder::read(Position position, std::uint64_t sample, float* into, std::uint32_t* labels,
                       float* targets, float* scratch) const {
  const Window window = this->window(position);
  float* const whole = window.moved() ? scratch : into;
  read_sample(*data_, sample, whole, labels, targets, [&] { return place(position); });
  if (window.moved()) take_window(window, data_->shape(), augmentation_.fill, whole, into);
}

std::array<std::uint64_t, SampleOrder::prepared> SampleOrder::prepare(Interval positions) const {
  std::array<std::uint64_t, prepared> samples{};
  const std::size_t count = std::min(prepared, positions.size());
  for (std::size_t i = 0; i < count; ++i) samples[i] = sample(positions.begin + i);
  data_->prepare(std::span(samples).first(count));
  return samples;
}

std::string SampleOrder::place(Position position) const {
  return "data set '" + name_ + "', " + (shuffled_ ? "training" : "test") + " sample " +
         std::to_string(sample(position)) +
         (shuffled_
              ? " (position " + std::to_string(position) + " of epoch " + std::to_string(epoch_ + 1) + ")"
              : "");
}

BatchBuffer::BatchBuffer(nn::Shape shape, std::uint32_t labels, BatchSizes sizes, std::uint32_t targets)
    : sample_size_(shape.size()),
      labels_each_(labels),
      targets_each_(targets),
      sizes_(std::move(sizes)),
      inputs_(shape.size() * sizes_.largest()),
      scratch_(shape.size()),
      labels_(labels_each_ * sizes_.largest()),
      targets_(targets_each_ * sizes_.largest()),
      positions_(sizes_.largest()) {}

const nn::MicroBatch& BatchBuffer::fill(const SampleOrder& order, Interval positions) {
  begin(order, positions);
  read(order, positions, 0, batch_.count, scratch_.data());
  return batch_;
}

const nn::MicroBatch& BatchBuffer::begin(const SampleOrder& order, Interval positions) {
  // Callers have checked positions that come from another process.
  CHECK(positions.begin < positions.end && positions.end <= order.data().size(),
        "a micro-batch lies outside its data set");
  const std::uint32_t size = sizes_.size_for(positions.size());
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, positions.size()));
  for (std::uint32_t i = 0; i < count; ++i) positions_[i] = positions.begin + i;
  // Padding is always the same, so results do not depend on the buffer's previous use.
  for (std::uint32_t i = count; i < size; ++i) {
    positions_[i] = 0;
    std::fill_n(labels_.data() + i * labels_each_, labels_each_, 0U);
    std::fill_n(targets_.data() + i * targets_each_, targets_each_, 0.0F);
    std::fill_n(inputs_.data() + i * sample_size_, sample_size_, 0.0F);
  }
  batch_ = {.inputs = inputs_.data(),
            .labels = labels_.data(),
            .positions = positions_.data(),
            .size = size,
            .count = count,
            .seed = order.seed(),
            .epoch = order.epoch(),
            .targets = targets_each_ > 0 ? targets_.data() : nullptr};
  return batch_;
}

// The data set prepares twice as many samples as are read then, so that it is always ahead.
void BatchBuffer::read(const SampleOrder& order, Interval positions, std::uint32_t first, std::uint32_t last,
                       float* scratch) {
  constexpr std::uint32_t together = SampleOrder::prepared / 2;
  for (std::uint32_t begin = first; begin < last; begin += together) {
    const auto samples = order.prepare({positions.begin + begin, positions.end});
    for (std::uint32_t i = begin; i < std::min(begin + together, last); ++i) {
      order.read(positions.begin + i, samples[i - begin], inputs_.data() + i * sample_size_,
                 labels_.data() + i * labels_each_, targets_.data() + i * targets_each_, scratch);
    }
  }
}

}  // namespace steelyard
