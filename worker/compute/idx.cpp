#include "worker/compute/idx.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/error.h"
#include "worker/compute/byte_source.h"

namespace steelyard {
namespace {

constexpr std::uint8_t unsigned_bytes = 8;  // byte 2 of the format

// Offsets count unpacked bytes: what a hex dump of the unpacked file shows.
[[noreturn]] void refuse(const std::filesystem::path& file, std::uint64_t offset, const std::string& expected,
                         const std::string& found) {
  throw Failure(ExitCode::io, file.string() + ", byte " + std::to_string(offset) + ": expected " + expected +
                                  ", found " + found + ": get the file again, or correct its path");
}

std::uint32_t read_u32(ByteSource& source, const std::string& expected) {
  std::array<std::uint8_t, 4> bytes{};
  const std::uint64_t offset = source.offset();
  if (source.read(bytes) < bytes.size()) refuse(source.file(), offset, expected, "the end of the file");
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

// The product of the sizes, each of which has been held against what the file can contain.
std::uint64_t read_sizes(ByteSource& source, unsigned dimensions, std::vector<std::uint32_t>& sizes) {
  std::uint64_t product = 1;
  for (unsigned i = 0; i < dimensions; ++i) {
    const std::uint64_t offset = source.offset();
    const std::uint32_t size = read_u32(source, "the size of dimension " + std::to_string(i));
    if (size == 0) refuse(source.file(), offset, "a size of at least 1", "0");
    if (product > source.most() / size) {
      refuse(source.file(), offset, "sizes of at most " + std::to_string(source.most()) + " bytes together",
             std::to_string(product) + " x " + std::to_string(size));
    }
    product *= size;
    sizes.push_back(size);
  }
  return product;
}

// Grows with what comes: a gzipped file can announce a thousand times its size and then not have it.
void read_values(ByteSource& source, std::uint64_t count, std::vector<std::uint8_t>& values) {
  constexpr std::uint64_t step = 1 << 20, taken_on_trust = 64 * step;
  values.reserve(std::min(count, taken_on_trust));
  while (values.size() < count) {
    const std::uint64_t before = values.size(), part = std::min(step, count - before);
    values.resize(before + part);
    const std::size_t done = source.read(std::span(values).subspan(before));
    values.resize(before + done);
    if (done < part) return;
  }
}

// The header of a label file is eight bytes long.
void check_labels(const IdxArray& labels, std::uint32_t classes) {
  const auto wrong = std::find_if(labels.values.begin(), labels.values.end(),
                                  [&](std::uint8_t label) { return label >= classes; });
  if (wrong == labels.values.end()) return;
  const auto index = static_cast<std::uint64_t>(wrong - labels.values.begin());
  refuse(labels.file, 8 + index, "a label below " + std::to_string(classes), std::to_string(*wrong));
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& file, unsigned dimensions) {
  ByteSource source(file);
  const std::uint32_t wanted = std::uint32_t{unsigned_bytes} << 8 | dimensions;
  const std::string meaning = "the magic number " + std::to_string(wanted) + " (unsigned bytes in " +
                              std::to_string(dimensions) + (dimensions == 1 ? " dimension)" : " dimensions)");
  const std::uint32_t magic = read_u32(source, meaning);
  if (magic != wanted) refuse(file, 0, meaning, std::to_string(magic));

  IdxArray array{.file = file, .sizes = {}, .values = {}};
  const std::uint64_t count = read_sizes(source, dimensions, array.sizes);
  const std::uint64_t start = source.offset();
  read_values(source, count, array.values);
  if (array.values.size() < count) {
    refuse(file, source.offset(),
           std::to_string(count) + " values from byte " + std::to_string(start) + " on",
           "the end of the file");
  }
  // Also makes a gzipped file show its checksum.
  const std::uint64_t end = source.offset();
  std::array<std::uint8_t, 1> beyond{};
  if (source.read(beyond) > 0) refuse(file, end, "the end of the file", "more bytes");
  return array;
}

Normalization measure(std::span<const std::uint8_t> pixels) {
  // Counted first: the sums are exact, and the same on every machine.
  std::array<std::uint64_t, 256> counts{};
  for (const std::uint8_t pixel : pixels) ++counts[pixel];
  std::uint64_t sum = 0, squares = 0;
  for (std::uint64_t value = 0; value < counts.size(); ++value) {
    sum += counts[value] * value;
    squares += counts[value] * value * value;
  }
  if (pixels.empty()) return {};
  const double count = static_cast<double>(pixels.size());
  const double mean = static_cast<double>(sum) / count;
  const double variance = static_cast<double>(squares) / count - mean * mean;
  // Pictures of one colour have nothing to scale.
  if (variance <= 0) return {mean / 255, 1};
  return {mean / 255, std::sqrt(variance) / 255};
}

IdxDataSet::IdxDataSet(IdxArray images, IdxArray labels, std::uint32_t classes, Normalization normalization)
    : classes_(classes) {
  CHECK(images.sizes.size() == 3 && labels.sizes.size() == 1, "arrays of the wrong dimensions");
  if (images.sizes[0] != labels.sizes[0]) {
    refuse(labels.file, 4,
           std::to_string(images.sizes[0]) + " labels, one for each image of " + images.file.string(),
           std::to_string(labels.sizes[0]));
  }
  check_labels(labels, classes);
  shape_ = {images.sizes[1], images.sizes[2], 1};
  pixels_ = std::move(images.values);
  labels_ = std::move(labels.values);
  // There are only 256 different pixels: one division each, instead of one for each time it is read.
  for (std::size_t value = 0; value < float_of_.size(); ++value) {
    const double normal = (static_cast<double>(value) / 255 - normalization.mean) / normalization.deviation;
    float_of_[value] = static_cast<float>(normal);
  }
}

void IdxDataSet::read(std::uint64_t index, float* into, std::uint32_t& label) const {
  CHECK(index < labels_.size(), "a sample is read that does not exist");
  const std::uint64_t count = shape_.size();
  const std::uint8_t* pixels = pixels_.data() + index * count;
  for (std::uint64_t i = 0; i < count; ++i) into[i] = float_of_[pixels[i]];
  label = labels_[index];
}

DataSets open_idx(const IdxFiles& files, std::optional<std::uint32_t> classes) {
  IdxArray images = read_idx(files.train_images, 3);
  IdxArray labels = read_idx(files.train_labels, 1);
  const Normalization normalization = measure(images.values);
  if (!classes) classes = *std::max_element(labels.values.begin(), labels.values.end()) + 1u;
  auto train =
      std::make_shared<const IdxDataSet>(std::move(images), std::move(labels), *classes, normalization);
  // Height and width are dimensions 1 and 2, at bytes 8 and 12.
  IdxArray test_images = read_idx(files.test_images, 3);
  for (std::size_t i : {1, 2}) {
    const std::uint32_t wanted = i == 1 ? train->shape().height : train->shape().width;
    if (test_images.sizes[i] == wanted) continue;
    refuse(test_images.file, 4 + 4 * i, std::to_string(wanted) + ", as in " + files.train_images.string(),
           std::to_string(test_images.sizes[i]));
  }
  auto test = std::make_shared<const IdxDataSet>(std::move(test_images), read_idx(files.test_labels, 1),
                                                 *classes, normalization);
  return {std::move(train), std::move(test), {}, normalization};
}

}  // namespace steelyard
