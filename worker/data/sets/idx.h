// IDX, the format of MNIST and its relatives: unsigned bytes in any number of dimensions.
//
//  byte 0, 1  zero
//  byte 2     type of the values; must be 8, unsigned bytes, as for all pictures and labels
//  byte 3     number of dimensions: 3 for pictures (count, height, width), 1 for labels
//  then       one big-endian 32-bit size for each dimension, and the values, row-major, to the end
// (Y. LeCun, http://yann.lecun.com/exdb/mnist). Files may be gzipped.
//
// Every size is checked against the file before use. If a file is truncated, has another type or a wrong
// size, functions throw Failure (io), which names the file, the byte, and the expected and the actual value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "worker/data/byte_floats.h"
#include "worker/data/samples.h"

namespace steelyard {

struct IdxArray {
  std::filesystem::path file;  // its source
  std::vector<std::uint32_t> sizes;
  std::span<const std::uint8_t> values;  // as many as the product of the sizes
  std::shared_ptr<const void> owner;     // keeps the values
};

// A plain file is mapped; for a gzipped one, memory never grows far beyond the bytes read.
IdxArray read_idx(const std::filesystem::path& file, unsigned dimensions);

// For byte / 255, over all of these pixels. Measured once, over the training set, and used for the test set,
// too.
Normalization measure(std::span<const std::uint8_t> pixels);

// Pictures with labels, one byte per pixel; converted to floats when read.
class IdxDataSet : public DataSet {
 public:
  // Throws Failure (io) if images and labels do not belong together or a label is not below `classes`.
  IdxDataSet(IdxArray images, IdxArray labels, std::uint32_t classes, const Normalization& normalization);

  [[nodiscard]] std::uint64_t size() const override { return labels_.values.size(); }
  [[nodiscard]] nn::Shape shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;
  void prepare(std::span<const std::uint64_t> indices) const override;

 private:
  nn::Shape shape_;
  std::uint32_t classes_;
  IdxArray images_, labels_;
  ByteFloats floats_;
};

// The four files of a data set, whatever their names.
struct IdxFiles {
  std::filesystem::path train_images, train_labels, test_images, test_labels;
};

// Both sets; without `classes`, the number that the training labels need.
DataSets open_idx(const IdxFiles& files, std::optional<std::uint32_t> classes);

}  // namespace steelyard
