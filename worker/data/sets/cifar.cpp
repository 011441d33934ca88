#include "worker/data/sets/cifar.h"

#include <algorithm>

#include "core/check.h"
#include "worker/data/data_sets.h"
#include "worker/data/normalization.h"

namespace steelyard {
namespace {

constexpr std::uint64_t plane = 32 * 32, channels = 3;

std::uint64_t record_size(const CifarFormat& format) { return format.label_bytes + channels * plane; }

void check(const FileBytes& file, const CifarFormat& format) {
  const std::uint64_t record = record_size(format), whole = file.size() / record * record;
  if (file.size() != whole || whole == 0) {
    refuse_byte(file.file, whole,
                "expected records of " + std::to_string(record) + " bytes, found " +
                    (whole == 0 ? "none" : std::to_string(file.size() - whole) + " bytes after the last"));
  }
  for (std::uint64_t at = format.label_at; at < file.size(); at += record) {
    if (file.bytes[at] < format.classes) continue;
    refuse_byte(file.file, at,
                "expected a label below " + std::to_string(format.classes) + ", found " +
                    std::to_string(file.bytes[at]));
  }
}

std::shared_ptr<CifarDataSet> opened(const std::vector<std::filesystem::path>& paths, CifarFormat format) {
  std::vector<FileBytes> files;
  for (const std::filesystem::path& path : paths) files.push_back(open_bytes(path));
  return std::make_shared<CifarDataSet>(std::move(files), format);
}

DataSets make_cifar_10(const Options& options) {
  const std::filesystem::path dir = given_file(options, "dir");
  std::vector<std::filesystem::path> train;
  for (const char* part : {"1", "2", "3", "4", "5"})
    train.push_back(file_in_folder(dir, "data_batch_" + std::string(part) + ".bin"));
  return with_picture_options(open_cifar(train, {file_in_folder(dir, "test_batch.bin")}, {}), options);
}

DataSets make_cifar_100(const Options& options) {
  const std::filesystem::path dir = given_file(options, "dir");
  const bool fine = options.text("labels") == "fine";
  const CifarFormat format{.label_bytes = 2, .label_at = fine ? 1U : 0U, .classes = fine ? 100U : 20U};
  return with_picture_options(
      open_cifar({file_in_folder(dir, "train.bin")}, {file_in_folder(dir, "test.bin")}, format), options);
}

}  // namespace

CifarDataSet::CifarDataSet(std::vector<FileBytes> files, CifarFormat format)
    : format_(format), files_(std::move(files)) {
  for (const FileBytes& file : files_) {
    check(file, format_);
    first_.push_back(size_);
    size_ += file.size() / record_size(format_);
  }
}

const std::uint8_t* CifarDataSet::record(std::uint64_t index) const {
  CHECK(index < size_, "a sample is read that does not exist");
  const auto file = std::ranges::upper_bound(first_, index) - first_.begin() - 1;
  const auto at = static_cast<std::size_t>(file);
  return files_[at].bytes.data() + (index - first_[at]) * record_size(format_);
}

Normalization CifarDataSet::measure() const {
  Histograms counts(channels);
  for (std::uint64_t i = 0; i < std::min(size_, measured_samples); ++i) {
    const std::uint8_t* pixels = record(i) + format_.label_bytes;
    for (std::uint64_t at = 0; at < channels * plane; ++at) ++counts[at / plane][pixels[at]];
  }
  return normalization_of(counts);
}

void CifarDataSet::normalize(const Normalization& by) { floats_ = ByteFloats(by, channels); }

void CifarDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  const std::uint8_t* its = record(index);
  *labels = its[format_.label_at];
  floats_.convert_planes(its + format_.label_bytes, plane, into);
}

void CifarDataSet::prepare(std::span<const std::uint64_t> indices) const {
  for (const std::uint64_t index : indices.first(std::min(indices.size(), loaded_soon))) {
    if (index < size_) load_soon({record(index), record_size(format_)});
  }
}

DataSets open_cifar(const std::vector<std::filesystem::path>& train,
                    const std::vector<std::filesystem::path>& test, CifarFormat format) {
  const auto first = opened(train, format), second = opened(test, format);
  const Normalization normalization = first->measure();
  first->normalize(normalization);
  second->normalize(normalization);
  return {first, second, {}, normalization};
}

DataTable cifar_rows() {
  return {{"cifar-10", make_cifar_10,
           "50,000 + 10,000 pictures, 32 x 32 in colour, in ten classes (Krizhevsky 2009), in binary form",
           picture_options({text_option("dir", "", "folder with data_batch_1.bin to 5 and test_batch.bin")})},
          {"cifar-100", make_cifar_100, "the same number of pictures in a hundred classes",
           picture_options({text_option("dir", "", "folder with train.bin and test.bin"),
                            word_option("labels", "fine", {"fine", "coarse"},
                                        "the 100 classes, or the 20 superclasses")})}};
}

}  // namespace steelyard
