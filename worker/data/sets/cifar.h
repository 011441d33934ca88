// CIFAR-10 and CIFAR-100 in their binary form (A. Krizhevsky, "Learning multiple layers of features from tiny
// images" (2009); https://www.cs.toronto.edu/~kriz/cifar.html): records without a header,
//
//  label bytes  one (CIFAR-10), or coarse and fine label (CIFAR-100)
//  3072 bytes   32 x 32 red values row by row, then green, then blue
//
// Samples are channels last. Files are mapped, or unpacked if they are gzipped. If a file's size is not a
// multiple of a record, or a label is invalid, functions throw Failure (io), which names file and byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "worker/data/byte_floats.h"
#include "worker/data/file_bytes.h"
#include "worker/data/samples.h"

namespace steelyard {

struct CifarFormat {
  std::uint32_t label_bytes = 1, label_at = 0;  // per record; index of the one used
  std::uint32_t classes = 10;
};

class CifarDataSet final : public DataSet {
 public:
  CifarDataSet(std::vector<FileBytes> files, CifarFormat format);
  // For byte / 255, each channel separately, over at most the first `measured_samples`.
  [[nodiscard]] Normalization measure() const;
  void normalize(const Normalization& by);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] nn::Shape shape() const override { return {32, 32, 3}; }
  [[nodiscard]] std::uint32_t classes() const override { return format_.classes; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;
  void prepare(std::span<const std::uint64_t> indices) const override;

 private:
  [[nodiscard]] const std::uint8_t* record(std::uint64_t index) const;

  const CifarFormat format_;
  const std::vector<FileBytes> files_;
  std::vector<std::uint64_t> first_;  // first sample of each file
  std::uint64_t size_ = 0;
  ByteFloats floats_{{}, 3};
};

DataSets open_cifar(const std::vector<std::filesystem::path>& train,
                    const std::vector<std::filesystem::path>& test, CifarFormat format);

}  // namespace steelyard
