// NPY, NumPy's format of one array (numpy.lib.format, versions 1.0 to 3.0): a magic number, a header that is
// a Python dictionary of descr (type of the values), fortran_order and shape, and the values.
//
// Files are mapped, or unpacked if they are gzipped. Values are little-endian and row-major: 32- and 64-bit
// floats and integers of 8 to 64 bits for inputs and targets, integers for labels. The shape is checked
// against the size of the file before use; for errors, functions throw Failure (io), which names the file and
// the byte.
//
// An .npz is a zip archive of such files (zip.h), one per array: "mnist.npz:x_train" is the array saved as
// x_train. If the archive has only one array, the name may be omitted. Arrays of numpy.savez are mapped like
// files, and read once for their CRC-32; those of numpy.savez_compressed are unpacked into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "worker/data/file_bytes.h"
#include "worker/data/samples.h"
#include "worker/data/targets.h"

namespace steelyard {

struct NpyArray {
  FileBytes bytes;                   // of the whole file
  std::uint64_t begin = 0;           // of the values, in bytes
  char kind = 'f';                   // f: float, i: signed, u: unsigned (b, booleans, too)
  std::uint64_t width = 4;           // bytes per value
  std::vector<std::uint64_t> shape;  // at least one dimension, none of them 0

  [[nodiscard]] std::uint64_t row() const;  // values for each index of the first dimension
};

NpyArray open_npy(const std::filesystem::path& file);  // or "archive.npz:array"

// Inputs of shape (samples, values), (samples, height, width) or (samples, height, width, channels); labels
// of shape (samples) or (samples, labels), targets of shape (samples) or (samples, targets).
class NpyDataSet final : public DataSet {
 public:
  // Throws Failure (io) if the two do not match, or a label is not below `classes` (default: the highest
  // label + 1).
  NpyDataSet(NpyArray inputs, const NpyArray& labels, std::optional<std::uint32_t> classes);
  // With targets, which may be floats. Throws Failure (io) if the two do not match, or for target_trouble().
  NpyDataSet(LabelKind kind, NpyArray inputs, const NpyArray& targets);
  void normalize(const Normalization& by) { normalization_ = by; }
  // For the scale of both sets.
  [[nodiscard]] Targets& own_targets() { return targets_; }

  [[nodiscard]] std::uint64_t size() const override { return inputs_.shape[0]; }
  [[nodiscard]] nn::Shape shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  [[nodiscard]] std::uint32_t labels() const override { return labels_each_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;
  [[nodiscard]] std::uint32_t targets() const override { return targets_.each(); }
  void read_targets(std::uint64_t index, float* into) const override { targets_.read(index, into); }

 private:
  const NpyArray inputs_;
  nn::Shape shape_;
  std::uint32_t classes_ = 0, labels_each_ = 1;
  std::vector<std::uint32_t> labels_;
  Targets targets_;
  Normalization normalization_;
};

struct NpyFiles {
  std::filesystem::path train_inputs, train_labels, test_inputs, test_labels;
};
// `normalized`: each channel with the training set's measure(). `classes` is not used with targets.
DataSets open_npy_sets(const NpyFiles& files, std::optional<std::uint32_t> classes, bool normalized,
                       const LabelOptions& labels = {});

}  // namespace steelyard
