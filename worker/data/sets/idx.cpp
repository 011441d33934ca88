#include "worker/data/sets/idx.h"

#include <algorithm>

#include "core/check.h"
#include "core/error.h"
#include "core/share.h"
#include "worker/data/byte_source.h"
#include "worker/data/data_sets.h"
#include "worker/data/file_bytes.h"
#include "worker/data/normalization.h"

namespace steelyard {
namespace {

constexpr std::uint8_t unsigned_bytes = 8;  // byte 2 of the format

// Offsets count unpacked bytes, as in a hex dump of the unpacked file.
[[noreturn]] void refuse_idx(const std::filesystem::path& file, std::uint64_t offset,
                             const std::string& expected, const std::string& found) {
  refuse_byte(file, offset, "expected " + expected + ", found " + found);
}

std::uint32_t read_u32(ByteSource& source, const std::string& expected) {
  std::array<std::uint8_t, 4> bytes{};
  const std::uint64_t offset = source.offset();
  if (source.read(bytes) < bytes.size()) refuse_idx(source.file(), offset, expected, "the end of the file");
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

// The product of the sizes; each is checked against what the file can contain.
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

// Limit of an initial allocation: a gzipped file may claim a thousand times its size.
constexpr std::uint64_t taken_on_trust = 64 << 20;

// The header of a label file has eight bytes.
void check_labels(const IdxArray& labels, std::uint32_t classes) {
  const auto wrong = std::find_if(labels.values.begin(), labels.values.end(),
                                  [&](std::uint8_t label) { return label >= classes; });
  if (wrong == labels.values.end()) return;
  const auto index = static_cast<std::uint64_t>(wrong - labels.values.begin());
  refuse_idx(labels.file, 8 + index, "a label below " + std::to_string(classes), std::to_string(*wrong));
}

IdxFiles files_in(const std::filesystem::path& dir) {
  return {.train_images = file_in_folder(dir, "train-images-idx3-ubyte"),
          .train_labels = file_in_folder(dir, "train-labels-idx1-ubyte"),
          .test_images = file_in_folder(dir, "t10k-images-idx3-ubyte"),
          .test_labels = file_in_folder(dir, "t10k-labels-idx1-ubyte")};
}

DataSets make_fashion_mnist(const Options& options) {
  const std::string& dir = options.text("dir");
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored)) {
    throw Failure(
        ExitCode::configuration,
        "there is no folder " + dir +
            ": install the Debian package dataset-fashion-mnist (script/setup does), or point data.dir to the"
            " folder with the four IDX files");
  }
  return with_picture_options(open_idx(files_in(dir), 10), options);
}

DataSets make_digits(const Options& options) {
  return with_picture_options(open_idx(files_in(shared_file("digits")), 10), options);
}

// Single files override the folder, so that one of the four can be replaced.
DataSets make_idx(const Options& options) {
  IdxFiles files;
  if (options.has("dir")) files = files_in(options.text("dir"));
  const auto choose = [&](const char* key, std::filesystem::path& file) {
    if (options.has(key) || file.empty()) file = given_file(options, key, ", or dir");
  };
  choose("train_images", files.train_images);
  choose("train_labels", files.train_labels);
  choose("test_images", files.test_images);
  choose("test_labels", files.test_labels);
  return with_picture_options(open_idx(files, given_classes(options)), options);
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
    values->reserve(std::min(count, taken_on_trust));
    source.read_up_to(count, *values);
    array.values = *values;
    array.owner = std::move(values);
    // Also makes zlib check the checksum.
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
    : classes_(classes), floats_(normalization, 1) {
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
}

void IdxDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  CHECK(index < labels_.values.size(), "a sample is read that does not exist");
  const std::uint64_t count = shape_.size();
  floats_.convert(images_.values.data() + index * count, count, into);
  *labels = labels_.values[index];
}

void IdxDataSet::prepare(std::span<const std::uint64_t> indices) const {
  const std::uint64_t count = shape_.size();
  for (const std::uint64_t index : indices.first(std::min(indices.size(), loaded_soon))) {
    if (index >= size()) continue;
    load_soon(images_.values.subspan(index * count, count));
    load_soon(labels_.values.subspan(index, 1));
  }
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

DataTable idx_rows() {
  return {
      {"digits", make_digits,
       "1,437 + 360 grey pictures of handwritten digits, 8 x 8 pixels, which come with the program",
       picture_options({})},
      {"fashion-mnist", make_fashion_mnist,
       "60,000 + 10,000 grey pictures of clothes, 28 x 28 pixels, in ten classes (Xiao et al. 2017)",
       picture_options(
           {text_option("dir", "/usr/share/datasets/fashion-mnist", "folder with the four IDX files")})},
      {"idx", make_idx, "any four IDX files, gzipped or not",
       picture_options(
           {text_option("dir", "",
                        "folder with files named like those of MNIST; or give each file by its own option:"),
            text_option("train_images", "", "a file"), text_option("train_labels", "", "a file"),
            text_option("test_images", "", "a file"), text_option("test_labels", "", "a file"),
            whole_option("classes", std::nullopt, 2, 256, "default: the highest training label + 1")})}};
}

}  // namespace steelyard
