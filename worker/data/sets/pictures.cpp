#include "worker/data/sets/pictures.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <thread>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "core/text.h"
#include "worker/data/data_sets.h"
#include "worker/data/normalization.h"
#include "worker/data/pictures/picture.h"
#include "worker/data/pictures/picture_folder.h"

namespace steelyard {
namespace {

constexpr std::uint64_t longest_picture_side = 4096;
constexpr unsigned most_threads = 64, usual_threads = 8;

// "512M": a number of bytes, with K, M or G for the powers of 1024.
std::optional<std::uint64_t> bytes_from(const std::string& text) {
  constexpr std::string_view units = "KMG";
  const std::size_t unit = text.empty() ? std::string::npos : units.find(text.back());
  const bool has_unit = unit != std::string::npos;
  const auto number = number_in<std::uint64_t>(text.substr(0, text.size() - (has_unit ? 1 : 0)));
  if (!number || *number > 1'000'000'000'000) return std::nullopt;
  return *number << (has_unit ? 10 * (unit + 1) : 0);
}

std::uint64_t key_of(std::uint64_t seed, const std::string& path) {
  return std::accumulate(path.begin(), path.end(), hash(seed),
                         [](std::uint64_t key, char c) { return mix(key ^ static_cast<std::uint8_t>(c)); });
}

// Files with their labels, in the order of their keys.
struct Keyed {
  std::uint64_t key;
  Pictures::Labelled file;
};
std::vector<Keyed> keyed(PictureFolder folder, std::uint64_t seed, const std::vector<std::uint32_t>& labels) {
  std::vector<Keyed> all;
  for (PictureFolder::File& file : folder.files) {
    const std::uint64_t key = key_of(seed, folder.inner_path(file));
    all.push_back({key, {std::move(file.path), labels[file.folder]}});
  }
  std::ranges::stable_sort(all, {}, &Keyed::key);  // the folder is sorted: equal keys keep that order
  return all;
}

std::vector<std::uint32_t> labels_of(const PictureFolder& folder, const ClassNames& classes,
                                     const std::string& origin) {
  std::vector<std::uint32_t> labels;
  for (const std::string& name : folder.folders) {
    const auto label = classes.find(name);
    if (!label) {
      throw Failure(ExitCode::io, (folder.root / name).string() + ": class '" + name +
                                      "' is not among those of " + origin + among(name, classes.names()) +
                                      ": remove the folder, or rename it");
    }
    labels.push_back(*label);
  }
  return labels;
}

// Returns the number of pictures that are held out, the first ones.
std::size_t held_out(const std::vector<Keyed>& all, const PictureFolders& from, const ClassNames& classes) {
  const auto border =
      std::ranges::find_if(all, [&](const Keyed& it) { return unit(it.key) >= from.holdout; });
  if (border == all.begin()) {
    refuse_setup("holdout = " + number_text(from.holdout) + ": of " + std::to_string(all.size()) +
                 " pictures none is chosen for the test set: give a larger share, or a test folder");
  }
  std::vector<bool> left(classes.size());
  std::for_each(border, all.end(), [&](const Keyed& it) { left[it.file.label] = true; });
  const auto none = std::ranges::find(left, false);
  if (none != left.end()) {
    refuse_setup("holdout = " + number_text(from.holdout) + ": no picture of class '" +
                 classes.names()[static_cast<std::size_t>(none - left.begin())] +
                 "' is left for training: give a smaller share, another seed, or a test folder");
  }
  return static_cast<std::size_t>(border - all.begin());
}

// A common mistake: the folder above those of the classes.
void require_classes(const PictureFolder& train) {
  const auto has = [&](const char* name) {
    return std::ranges::find(train.folders, name) != train.folders.end();
  };
  if (!has("train") || !(has("test") || has("val") || has("valid"))) return;
  const std::string test = has("test") ? "test" : has("val") ? "val" : "valid";
  refuse_setup("train = " + train.root.string() + ": its subfolders are not classes: give train = \"" +
               (train.root / "train").string() + "\" and test = \"" + (train.root / test).string() + '"');
}

}  // namespace

Pictures::Pictures(std::vector<Labelled> files, const PictureReading& reading)
    : files_(std::move(files)),
      format_(reading.format),
      store_([this](std::uint64_t index,
                    std::uint8_t* into) { read_picture(files_[index].path, format_, into); },
             {reading.format.bytes(), reading.cache, reading.threads}) {}

PictureDataSet::PictureDataSet(std::shared_ptr<const Pictures> pictures, std::uint64_t begin,
                               std::uint64_t size, std::uint32_t classes)
    : pictures_(std::move(pictures)),
      begin_(begin),
      size_(size),
      classes_(classes),
      floats_({}, pictures_->format().channels) {
  CHECK(begin <= pictures_->size() && size <= pictures_->size() - begin, "pictures that do not exist");
}

void PictureDataSet::normalize(const Normalization& by) {
  floats_ = ByteFloats(by, pictures_->format().channels);
}

Normalization PictureDataSet::measure() const {
  const PictureFormat& format = pictures_->format();
  Histograms counts(format.channels);
  std::vector<std::uint64_t> indices(std::min(size_, measured_pictures));
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  constexpr std::size_t together = 64;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i % (together / 2) == 0)
      prepare(std::span(indices).subspan(i, std::min(together, indices.size() - i)));
    pictures_->store().read(begin_ + i, [&](const std::uint8_t* pixels) {
      for (std::uint64_t at = 0; at < format.bytes(); ++at) ++counts[at % format.channels][pixels[at]];
    });
  }
  return normalization_of(counts);
}

void PictureDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  CHECK(index < size_, "a sample is read that does not exist");
  const std::uint64_t bytes = pictures_->format().bytes();
  pictures_->store().read(begin_ + index,
                          [&](const std::uint8_t* pixels) { floats_.convert(pixels, bytes, into); });
  *labels = pictures_->file(begin_ + index).label;
}

void PictureDataSet::prepare(std::span<const std::uint64_t> indices) const {
  std::vector<std::uint64_t> all;
  for (const std::uint64_t index : indices) {
    if (index < size_) all.push_back(begin_ + index);
  }
  pictures_->store().prepare(all);
}

std::string PictureDataSet::name(std::uint64_t index) const { return pictures_->file(begin_ + index).path; }

std::vector<Option> picture_reading_options() {
  std::vector<Option> options{
      wholes_option("size", {32, 32}, 1, longest_picture_side,
                    "[rows, columns] of a sample: the middle of each picture is scaled to it"),
      word_option("channels", "3", {"1", "3"}, "1: grey; 3: red, green and blue"),
      whole_option("threads", std::nullopt, 1, most_threads,
                   "that decode, in each process; default: the number of processors, at most " +
                       std::to_string(usual_threads)),
      {"cache", "512M", "a number of bytes, as in 512M or 4G",
       "memory of each process for decoded pictures; those beyond are decoded in each epoch",
       [](const std::string& text) { return bytes_from(text).has_value(); }}};
  return options;
}

PictureReading picture_reading(const Options& options) {
  const std::vector<std::uint64_t> size = options.wholes("size");
  if (size.size() > 2)
    refuse_setup("size has " + std::to_string(size.size()) +
                 " numbers: give rows and columns, as in [32, 32]");
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, usual_threads);
  return {{static_cast<std::uint32_t>(size.front()), static_cast<std::uint32_t>(size.back()),
           static_cast<std::uint32_t>(options.whole("channels"))},
          options.has("threads") ? static_cast<unsigned>(options.whole("threads")) : cores,
          bytes_from(options.text("cache")).value_or(0)};
}

DataSets open_pictures(const PictureFolders& from, const PictureReading& reading) {
  if (from.test.empty() && from.holdout == 0)
    refuse_setup("no option test: give a folder, or holdout = 0.1 to test on a tenth of the pictures");
  if (!from.test.empty() && from.holdout > 0) refuse_setup("test and holdout are both given: leave one out");
  PictureFolder folder = list_classes(from.train);
  require_classes(folder);
  const ClassNames classes(folder.folders);
  const std::vector<std::uint32_t> labels = labels_of(folder, classes, from.train.string());
  std::vector<Keyed> all = keyed(std::move(folder), from.seed, labels);
  std::size_t test_size = 0;
  if (from.test.empty()) {
    test_size = held_out(all, from, classes);
  } else {
    PictureFolder test = list_classes(from.test, true);
    const std::vector<std::uint32_t> its_labels = labels_of(test, classes, from.train.string());
    std::vector<Keyed> more = keyed(std::move(test), from.seed, its_labels);
    test_size = more.size();
    all.insert(all.begin(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
  }
  std::vector<Pictures::Labelled> files;
  for (Keyed& it : all) files.push_back(std::move(it.file));
  const std::uint64_t train_size = files.size() - test_size;
  const auto pictures = std::make_shared<const Pictures>(std::move(files), reading);
  const auto train = std::make_shared<PictureDataSet>(pictures, test_size, train_size, classes.size());
  const auto test = std::make_shared<PictureDataSet>(pictures, 0, test_size, classes.size());
  DataSets sets{train, test};
  sets.normalization = train->measure();
  train->normalize(sets.normalization);
  test->normalize(sets.normalization);
  sets.class_names = classes.names();
  return sets;
}

DataTable pictures_rows() {
  const auto make = [](const Options& options) {
    const PictureFolders folders{given_file(options, "train"),
                                 options.has("test") ? options.text("test") : std::string(),
                                 options.number("holdout"), options.whole("seed")};
    return with_picture_options(open_pictures(folders, picture_reading(options)), options);
  };
  std::vector<Option> options{
      text_option("train", "", "a folder with a subfolder of PNG and JPEG pictures for each class"),
      text_option("test", "", "a folder with the same subfolders"),
      number_option("holdout", 0, 0, below(1),
                    "without test: the share of the pictures to test on, as in 0.1"),
      whole_option("seed", 1, 0, UINT64_MAX, "of the choice of these, and of the order of samples")};
  std::ranges::move(picture_reading_options(), std::back_inserter(options));
  return {{"pictures", make,
           "folders of PNG and JPEG pictures, which are the classes (as ImageFolder reads them)",
           picture_options(std::move(options))}};
}

}  // namespace steelyard
