// BatchBuffer: the memory behind one micro-batch, and how positions become samples.
//
//  training    position p of epoch e is sample P(p), where P is the permutation of the training set keyed by
//              hash(seed, e): the same on every machine, and another one each epoch
//  evaluation  position p is sample p of the test set
//
// Training samples are augmented, if the data set asks for it (worker/data/augmentation.h).
//
// n positions make micro-batches of the largest size and one of the smallest that holds the rest. What of it
// is not needed is padding: zero input, label 0, position 0; MicroBatch::count tells how many samples are
// real.
//
// Belongs to one thread at a time; used again and again without allocating.
#pragma once

#include <vector>

#include "core/buffer.h"
#include "core/permutation.h"
#include "nn/micro_batch.h"
#include "protocol/messages.h"
#include "worker/data/data_set.h"

namespace steelyard {

// How samples are found; shared by all micro-batches of one piece.
class SampleOrder {
 public:
  SampleOrder(const DataSets& data, Purpose purpose, std::uint64_t seed, std::uint64_t epoch);

  [[nodiscard]] const DataSet& data() const { return *data_; }
  [[nodiscard]] std::uint64_t sample(Position position) const {
    return shuffled_ ? permutation_(position) : position;
  }
  // The sample at a position. Throws Failure for what the data set throws, and for a label out of range, with
  // the sample's place.
  // `scratch` is as large as the sample.
  void read(Position position, float* into, std::uint32_t* labels, float* scratch) const;
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

class BatchBuffer {
 public:
  // `labels`: of each sample; `sizes`: of micro-batches, largest first.
  BatchBuffer(nn::Shape shape, std::uint32_t labels, std::vector<std::uint32_t> sizes);

  // The first micro-batch of `positions`, which are not empty and lie inside the data set.
  const nn::MicroBatch& fill(const SampleOrder& order, Interval positions);
  [[nodiscard]] const nn::MicroBatch& batch() const { return batch_; }

 private:
  [[nodiscard]] std::uint32_t size_for(std::uint64_t samples) const;

  const std::uint64_t sample_size_, labels_each_;
  const std::vector<std::uint32_t> sizes_;
  FloatBuffer inputs_, scratch_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::uint64_t> positions_;
  nn::MicroBatch batch_;
};

}  // namespace steelyard
