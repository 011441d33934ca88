// From positions to micro-batches: SampleOrder reads single samples, BatchBuffer contains those of a
// micro-batch.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/micro_batch.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/random.h"
#include "protocol/messages.h"
#include "worker/compute/batch_sizes.h"
#include "worker/data/augmentation.h"

namespace steelyard {

// SampleOrder: maps positions to samples. Shared by all micro-batches of one piece.
//
//  training    position p of epoch e is sample P(p), where P is the permutation of the training set keyed by
//              hash(seed, e): the same on every machine, and different in each epoch
//  evaluation  position p is sample p of the test set
//
// Training samples are augmented if the data set requests it (include/steelyard/data_set.h).
class SampleOrder {
 public:
  SampleOrder(const DataSets& data, Purpose purpose, std::uint64_t seed, std::uint64_t epoch);

  [[nodiscard]] const DataSet& data() const { return *data_; }
  [[nodiscard]] std::uint64_t sample(Position position) const {
    return shuffled_ ? permutation_(position) : position;
  }
  // Reads the sample at a position. Throws Failure, which names the sample, if the data set throws or a label
  // is out of range. `scratch` has the size of the sample. `targets` is written if the samples have them.
  void read(Position position, float* into, std::uint32_t* labels, float* targets, float* scratch) const {
    read(position, sample(position), into, labels, targets, scratch);
  }
  // The same with a known sample(position).
  void read(Position position, std::uint64_t sample, float* into, std::uint32_t* labels, float* targets,
            float* scratch) const;
  // The window of the sample at a position.
  [[nodiscard]] Window window(Position position) const;
  // The samples of the first of these positions, at most `prepared`; gives them to DataSet::prepare().
  static constexpr std::uint64_t prepared = 64;
  std::array<std::uint64_t, prepared> prepare(Interval positions) const;
  // "data set 'rings', training sample 4711 (position 12 of epoch 3)"
  [[nodiscard]] std::string place(Position position) const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  std::shared_ptr<const DataSet> data_;
  std::string name_;
  Augmentation augmentation_;
  bool shuffled_;
  std::uint64_t seed_, epoch_;
  Permutation permutation_;
};

// BatchBuffer: the memory of one micro-batch.
//
// Positions are divided into micro-batches by BatchSizes. Unused entries of the last one are padding: zero
// input, label 0, targets 0, position 0; MicroBatch::count is the number of real samples.
//
// Belongs to one thread at a time, except for read(); reused without allocating.
class BatchBuffer {
 public:
  // `labels` and `targets`: per sample.
  BatchBuffer(nn::Shape shape, std::uint32_t labels, BatchSizes sizes, std::uint32_t targets = 0);

  // Reads the samples of the first micro-batch of `positions` into this buffer, by SampleOrder::read(), and
  // has the data set prepare those that follow.
  // `positions` must not be empty and must lie inside the data set.
  const nn::MicroBatch& fill(const SampleOrder& order, Interval positions);

  // The same in parts, which several threads may read at the same time: begin() chooses the size and writes
  // all but the samples, then read() reads samples [first, last) of the micro-batch. `scratch` has the size
  // of a sample and belongs to the calling thread; `positions` are those of begin().
  const nn::MicroBatch& begin(const SampleOrder& order, Interval positions);
  void read(const SampleOrder& order, Interval positions, std::uint32_t first, std::uint32_t last,
            float* scratch);
  [[nodiscard]] const nn::MicroBatch& batch() const { return batch_; }

 private:
  const std::uint64_t sample_size_, labels_each_, targets_each_;
  const BatchSizes sizes_;
  FloatBuffer inputs_, scratch_;
  std::vector<std::uint32_t> labels_;
  std::vector<float> targets_;
  std::vector<std::uint64_t> positions_;
  nn::MicroBatch batch_;
};

}  // namespace steelyard
