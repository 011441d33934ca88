#include "worker/data/idx.h"

#include <algorithm>

#include "core/check.h"
#include "core/error.h"
#include "worker/data/byte_source.h"
#include "worker/data/file_bytes.h"
#include "worker/data/normalization.h"

namespace steelyard {
namespace {

constexpr std::uint8_t unsigned_bytes = 8;  // byte 2 of the format

// Offsets count unpacked bytes: what a hex dump of the unpacked file shows.
[[noreturn]] void refuse_idx(const std::filesystem::path& file, std::uint64_t offset,
                             const std::string& expected, const std::string& found) {
  throw Failure(ExitCode::io, file.string() + ", byte " + std::to_string(offset) + ": expected " + expected +
                                  ", found " + found + ": get the file again, or correct its path");
}

std::uint32_t read_u32(ByteSource& source, const std::string& expected) {
  std::array<std::uint8_t, 4> bytes{};
  const std::uint64_t offset = source.offset();
  if (source.read(bytes) < bytes.size()) refuse_idx(source.file(), offset, expected, "the end of the file");
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

// The product of the sizes, each of which has been held against what the file can contain.
std::uint64_t read_sizes(ByteSource& source, unsigned dimensions, std::vector<std::uint32_t>& sizes) {
  std::uint64_t product = 1;
  for (unsigned i = 0; i < dimensions; ++i) {
    const std::uint64_t offset = source.offset();
    const std::uint32_t size = read_u32(source, "the size of dimension " + std::to_string(i));
    if (size == 0) refuse_idx(source.file(), offset, "a size of at least 1", "0");
    if (product > source.most() / size) {
      refuse_idx(source.file(), offset,
                 "sizes of at most " + std::to_string(source.most()) + " bytes together",
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
  refuse_idx(labels.file, 8 + index, "a label below " + std::to_string(classes), std::to_string(*wrong));
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& file, unsigned dimensions) {
  ByteSource source(file);
  const std::uint32_t wanted = std::uint32_t{unsigned_bytes} << 8 | dimensions;
  const std::string meaning = "the magic number " + std::to_string(wanted) + " (unsigned bytes in " +
                              std::to_string(dimensions) + (dimensions == 1 ? " dimension)" : " dimensions)");
  const std::uint32_t magic = read_u32(source, meaning);
  if (magic != wanted) refuse_idx(file, 0, meaning, std::to_string(magic));

  IdxArray array{.file = file, .sizes = {}, .values = {}, .owner = {}};
  const std::uint64_t count = read_sizes(source, dimensions, array.sizes);
  const std::uint64_t start = source.offset();
  bool more = false;
  if (source.is_packed()) {
    auto values = std::make_shared<std::vector<std::uint8_t>>();
    read_values(source, count, *values);
    array.values = *values;
    array.owner = std::move(values);
    // Also makes the file show its checksum.
    std::array<std::uint8_t, 1> beyond{};
    more = array.values.size() == count && source.read(beyond) > 0;
  } else {
    const FileBytes whole = map_bytes(file);
    const auto behind = whole.bytes.subspan(std::min(start, whole.size()));
    array.values = behind.first(std::min<std::uint64_t>(count, behind.size()));
    array.owner = whole.owner;
    more = behind.size() > count;
  }
  if (array.values.size() < count) {
    refuse_idx(file, start + array.values.size(),
               std::to_string(count) + " values from byte " + std::to_string(start) + " on",
               "the end of the file");
  }
  if (more) refuse_idx(file, start + count, "the end of the file", "more bytes");
  return array;
}

Normalization measure(std::span<const std::uint8_t> pixels) {
  Histograms counts(1);
  for (const std::uint8_t pixel : pixels) ++counts[0][pixel];
  return normalization_of(counts);
}

IdxDataSet::IdxDataSet(IdxArray images, IdxArray labels, std::uint32_t classes,
                       const Normalization& normalization)
    : classes_(classes) {
  CHECK(images.sizes.size() == 3 && labels.sizes.size() == 1, "arrays of the wrong dimensions");
  if (images.sizes[0] != labels.sizes[0]) {
    refuse_idx(labels.file, 4,
               std::to_string(images.sizes[0]) + " labels, one for each image of " + images.file.string(),
               std::to_string(labels.sizes[0]));
  }
  check_labels(labels, classes);
  shape_ = {images.sizes[1], images.sizes[2], 1};
  images_ = std::move(images);
  labels_ = std::move(labels);
  float_of_ = floats_of_bytes(normalization, 0);
}

void IdxDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  CHECK(index < labels_.values.size(), "a sample is read that does not exist");
  const std::uint64_t count = shape_.size();
  const std::uint8_t* pixels = images_.values.data() + index * count;
  for (std::uint64_t i = 0; i < count; ++i) into[i] = float_of_[pixels[i]];
  *labels = labels_.values[index];
}

DataSets open_idx(const IdxFiles& files, std::optional<std::uint32_t> classes) {
  IdxArray images = read_idx(files.train_images, 3);
  IdxArray labels = read_idx(files.train_labels, 1);
  const std::uint64_t pixels = images.values.size() / images.sizes[0];
  const Normalization normalization =
      measure(images.values.first(pixels * std::min<std::uint64_t>(images.sizes[0], measured_samples)));
  if (!classes) classes = *std::max_element(labels.values.begin(), labels.values.end()) + 1u;
  auto train =
      std::make_shared<const IdxDataSet>(std::move(images), std::move(labels), *classes, normalization);
  // Height and width are dimensions 1 and 2, at bytes 8 and 12.
  IdxArray test_images = read_idx(files.test_images, 3);
  for (std::size_t i : {1, 2}) {
    const std::uint32_t wanted = i == 1 ? train->shape().height : train->shape().width;
    if (test_images.sizes[i] == wanted) continue;
    refuse_idx(test_images.file, 4 + 4 * i, std::to_string(wanted) + ", as in " + files.train_images.string(),
               std::to_string(test_images.sizes[i]));
  }
  auto test = std::make_shared<const IdxDataSet>(std::move(test_images), read_idx(files.test_labels, 1),
                                                 *classes, normalization);
  return {std::move(train), std::move(test), {}, normalization};
}

}  // namespace steelyard
