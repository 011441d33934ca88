#include "worker/data/cifar.h"

#include <algorithm>

#include "core/check.h"
#include "core/error.h"
#include "worker/data/normalization.h"

namespace steelyard {
namespace {

constexpr std::uint64_t plane = 32 * 32, channels = 3;

std::uint64_t record_size(const CifarFormat& format) { return format.label_bytes + channels * plane; }

[[noreturn]] void refuse_records(const FileBytes& file, std::uint64_t offset, const std::string& what) {
  throw Failure(ExitCode::io, file.file.string() + ", byte " + std::to_string(offset) + ": " + what +
                                  ": get the file again, or correct its path");
}

void check(const FileBytes& file, const CifarFormat& format) {
  const std::uint64_t record = record_size(format), whole = file.size() / record * record;
  if (file.size() != whole || whole == 0) {
    refuse_records(file, whole,
                   "expected records of " + std::to_string(record) + " bytes, found " +
                       (whole == 0 ? "none" : std::to_string(file.size() - whole) + " bytes after the last"));
  }
  for (std::uint64_t at = format.label_at; at < file.size(); at += record) {
    if (file.bytes[at] < format.classes) continue;
    refuse_records(file, at,
                   "expected a label below " + std::to_string(format.classes) + ", found " +
                       std::to_string(file.bytes[at]));
  }
}

std::shared_ptr<CifarDataSet> opened(const std::vector<std::filesystem::path>& paths, CifarFormat format) {
  std::vector<FileBytes> files;
  for (const std::filesystem::path& path : paths) files.push_back(open_bytes(path));
  return std::make_shared<CifarDataSet>(std::move(files), format);
}

}  // namespace

CifarDataSet::CifarDataSet(std::vector<FileBytes> files, CifarFormat format)
    : format_(format), files_(std::move(files)) {
  for (const FileBytes& file : files_) {
    check(file, format_);
    first_.push_back(size_);
    size_ += file.size() / record_size(format_);
  }
  normalize({});
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

void CifarDataSet::normalize(const Normalization& by) {
  for (std::size_t channel = 0; channel < channels; ++channel)
    float_of_[channel] = floats_of_bytes(by, channel);
}

void CifarDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  const std::uint8_t* its = record(index);
  *labels = its[format_.label_at];
  const std::uint8_t* pixels = its + format_.label_bytes;
  for (std::uint64_t at = 0; at < plane; ++at) {
    for (std::uint64_t channel = 0; channel < channels; ++channel)
      into[at * channels + channel] = float_of_[channel][pixels[channel * plane + at]];
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

}  // namespace steelyard
