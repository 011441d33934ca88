// Folders of pictures as a data set (worker/data/pictures/picture_folder.h). Pictures are decoded when they
// are needed, on several threads, and a limited number of them stays in memory (picture_store.h).
//
// Samples are in the order of a hash of their path below the folder: the same on every machine, and any first
// part of them is a random choice from all classes. The order does not change for the rest if pictures are
// added or removed.
#pragma once

#include <steelyard/choice.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/data/byte_floats.h"
#include "worker/data/pictures/picture_format.h"
#include "worker/data/pictures/picture_store.h"
#include "worker/data/samples.h"

namespace steelyard {

// Pictures measured for the mean and the deviation of each channel.
inline constexpr std::uint64_t measured_pictures = 2048;

struct PictureReading {
  PictureFormat format{};
  unsigned threads = 1;     // that decode, in each process
  std::uint64_t cache = 0;  // bytes of decoded pictures in memory
};

// Files of pictures with labels, and their decoded bytes. Shared by training and test set.
class Pictures {
 public:
  struct Labelled {
    std::string path;
    std::uint32_t label;
  };
  Pictures(std::vector<Labelled> files, const PictureReading& reading);

  [[nodiscard]] std::uint64_t size() const { return files_.size(); }
  [[nodiscard]] const PictureFormat& format() const { return format_; }
  [[nodiscard]] const Labelled& file(std::uint64_t index) const { return files_.at(index); }
  [[nodiscard]] PictureStore& store() const { return store_; }

 private:
  const std::vector<Labelled> files_;
  const PictureFormat format_;
  mutable PictureStore store_;  // reading changes only what is kept
};

// Some of the pictures: those from `begin` on.
class PictureDataSet final : public DataSet {
 public:
  PictureDataSet(std::shared_ptr<const Pictures> pictures, std::uint64_t begin, std::uint64_t size,
                 std::uint32_t classes);
  // For byte / 255, each channel separately, over the first `measured_pictures`.
  [[nodiscard]] Normalization measure() const;
  void normalize(const Normalization& by);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] nn::Shape shape() const override { return pictures_->format().shape(); }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  // Throws Failure (io), which names the file.
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;
  void prepare(std::span<const std::uint64_t> indices) const override;
  [[nodiscard]] std::string name(std::uint64_t index) const override;

 private:
  const std::shared_ptr<const Pictures> pictures_;
  const std::uint64_t begin_, size_;
  const std::uint32_t classes_;
  ByteFloats floats_;
};

// The options of a job file for the following, and their values.
std::vector<Option> picture_reading_options();
PictureReading picture_reading(const Options& options);

struct PictureFolders {
  std::filesystem::path train{}, test{};  // no test folder: a part of the training pictures
  double holdout = 0;                     // is the test set: this share, chosen by `seed`
  std::uint64_t seed = 1;
};
// Classes have the names of the subfolders of `train`, in the order of ClassNames.
DataSets open_pictures(const PictureFolders& folders, const PictureReading& reading);

}  // namespace steelyard
