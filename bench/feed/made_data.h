// Data sets for the feed's benchmark, in the files that users have, and their samples by plain code.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/micro_batch.h>

#include <cstdint>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace steelyard::bench {

// Bytes of random pixels, as sets of a name, and their augmentation. Files are deleted with the object.
class MadeBytes {
 public:
  // 50,000 samples in the files of CIFAR-10, with crop = 4 and flip.
  static MadeBytes cifar();
  // 60,000 samples in the files of MNIST, not augmented.
  static MadeBytes mnist();

  [[nodiscard]] const DataSets& sets() const { return sets_; }
  // Throws WrongResult unless each training sample of the micro-batch has the bits of its bytes, normalised
  // one by one, in one of the windows that the augmentation may choose.
  void check(const nn::MicroBatch& batch) const;

 private:
  MadeBytes() = default;
  [[nodiscard]] bool is_window(const float* sample, const std::uint8_t* pixels, int down, int right,
                               bool flipped) const;

  std::shared_ptr<const TemporaryFolder> folder_ = std::make_shared<TemporaryFolder>();
  DataSets sets_;
  std::vector<std::uint8_t> pixels_;        // of all training samples, as in the file
  bool planes_ = false;                     // a plane for each channel
  std::uint64_t between_ = 0, before_ = 0;  // bytes of a sample with its label, and those before its pixels
};

// 64 JPEG pictures of 320 x 240 pixels as training set, in samples of 96 x 96. Nothing is kept in memory.
class MadePictures {
 public:
  MadePictures();
  [[nodiscard]] const DataSets& sets() const { return sets_; }
  // Decodes each file in memory once with libjpeg-turbo, at the same scale, and does nothing else. Returns
  // the number of files.
  [[nodiscard]] std::uint64_t decode_bare() const;

 private:
  TemporaryFolder folder_;
  std::vector<std::vector<std::uint8_t>> files_;
  DataSets sets_;
};

}  // namespace steelyard::bench
