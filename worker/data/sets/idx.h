// IDX, the format of MNIST and its relatives: unsigned bytes in any number of dimensions.
//
//  byte 0, 1  zero
//  byte 2     type of the values; 8: unsigned bytes, the only one that pictures and labels come in
//  byte 3     number of dimensions: 3 for pictures (count, height, width), 1 for labels
//  then       one big-endian 32-bit size for each dimension, and the values, row-major, to the end
// (Y. LeCun, http://yann.lecun.com/exdb/mnist). Files may be gzipped.
//
// No size is believed before it has been held against the file: what is cut short, mislabelled or of the
// wrong size is a Failure (io) that names file, byte, what was expected and what is there.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "worker/data/samples.h"

namespace steelyard {

struct IdxArray {
  std::filesystem::path file;  // where it is from
  std::vector<std::uint32_t> sizes;
  std::span<const std::uint8_t> values;  // as many as the product of the sizes
  std::shared_ptr<const void> owner;     // keeps the values
};

// A plain file is mapped; of a gzipped one, memory never grows far beyond what has been read.
IdxArray read_idx(const std::filesystem::path& file, unsigned dimensions);

// Of byte / 255, over all of these pixels; measured over the training set, once, and used for the test set as
// well, so that both are seen on the same scale.
Normalization measure(std::span<const std::uint8_t> pixels);

// Pictures with labels, one byte a pixel; floats are made as they are read.
class IdxDataSet : public DataSet {
 public:
  // Throws Failure (io) if images and labels do not belong together or a label is not below `classes`.
  IdxDataSet(IdxArray images, IdxArray labels, std::uint32_t classes, const Normalization& normalization);

  [[nodiscard]] std::uint64_t size() const override { return labels_.values.size(); }
  [[nodiscard]] nn::Shape shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;

 private:
  nn::Shape shape_;
  std::uint32_t classes_;
  IdxArray images_, labels_;
  std::array<float, 256> float_of_{};
};

// The four files of a data set, however they are called.
struct IdxFiles {
  std::filesystem::path train_images, train_labels, test_images, test_labels;
};

// Both sets; without `classes`, as many as the training labels need.
DataSets open_idx(const IdxFiles& files, std::optional<std::uint32_t> classes);

}  // namespace steelyard
