#include "worker/data/data_sets.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "core/error.h"
#include "core/options.h"
#include "worker/data/first_samples.h"
#include "worker/data/normalization.h"

namespace steelyard {
namespace {

// Also checks users' data sets: these errors would otherwise appear in the middle of training.
void check(const DataSets& sets) {
  if (!sets.train || !sets.test) refuse_setup("it is incomplete: make a training and a test set");
  if (sets.train->size() == 0 || sets.test->size() == 0) refuse_setup("it has a set without samples");
  if (sets.train->shape() != sets.test->shape() || sets.train->classes() != sets.test->classes() ||
      sets.train->labels() != sets.test->labels() || sets.train->labels() == 0 ||
      sets.train->targets() != sets.test->targets()) {
    refuse_setup("training and test set differ in shape or classes, or in labels or targets of a sample");
  }
  const DataSet& train = *sets.train;
  if (train.targets() > 0 && (train.classes() != train.targets() || train.labels() != 1))
    refuse_setup("a sample with targets has one label, and as many classes as targets: make classes() so");
}

void shorten(std::shared_ptr<const DataSet>& set, const Options& options, const char* key) {
  if (!options.has(key)) return;
  const std::uint64_t size = options.whole(key);
  if (size > set->size()) {
    refuse_setup(std::string(key) + " = " + std::to_string(size) + ": the set has " +
                 std::to_string(set->size()) + " samples: give at most as many, or leave it out");
  }
  set = std::make_shared<const FirstSamples>(std::move(set), size);
}

}  // namespace

const DataTable& built_in_data_sets() {
  static const DataTable table = table_of(data_files());
  return table;
}

DataSets open_data(const std::string& name, const OptionTexts& options, const DataTable& extra) {
  DataSets sets = make_choice("data set", name, options, extra, built_in_data_sets());
  in_name_of("data set '" + name + "'", [&] { check(sets); });
  sets.name = name;
  return sets;
}

namespace {

// Data that only a program can read: remote, or in a format of another library.
void require_readable(const std::string& key, const std::string& file) {
  constexpr std::array formats{".parquet", ".arrow", ".feather", ".orc", ".tfrecord", ".hdf5", ".h5"};
  const bool remote = file.find("://") != std::string::npos;
  const auto format = std::ranges::find_if(formats, [&](const char* it) { return file.ends_with(it); });
  if (!remote && format == formats.end()) return;
  throw Failure(ExitCode::configuration,
                key + " = '" + file + "': " + (remote ? "only files of this machine are read" : *format + 1) +
                    std::string(remote ? "" : " files are not read") +
                    ": read it in Python, as examples/python/parquet_rows.py does (docs/python.md), or "
                    "convert it to CSV, NPY or pictures");
}

}  // namespace

std::filesystem::path given_file(const Options& options, const char* key, const char* or_else) {
  if (options.has(key)) {
    require_readable(key, options.text(key));
    return options.text(key);
  }
  throw Failure(ExitCode::configuration, std::string("no option ") + key + ": give this file" + or_else);
}

std::filesystem::path file_in_folder(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path plain = folder / name, packed = folder / (name + ".gz");
  std::error_code ignored;
  const bool only_packed =
      !std::filesystem::exists(plain, ignored) && std::filesystem::exists(packed, ignored);
  return only_packed ? packed : plain;
}

std::optional<std::uint32_t> given_classes(const Options& options) {
  if (!options.has("classes")) return std::nullopt;
  return static_cast<std::uint32_t>(options.whole("classes"));
}

Option normalize_option() {
  return flag_option("normalize", true, "scale each channel or column to mean 0 and deviation 1");
}

std::vector<Option> picture_options(std::vector<Option> options) {
  options.push_back(whole_option("pad", std::nullopt, 1, longest_side,
                                 "add a black border, up to a square with sides of this many pixels"));
  options.push_back(
      whole_option("crop", 0, 0, longest_side,
                   "shift training pictures at random, by up to this many pixels (4 is usual)"));
  options.push_back(flag_option("flip", false, "mirror half of the training pictures, at random"));
  options.push_back(whole_option("train_samples", std::nullopt, 1, UINT32_MAX,
                                 "use only the first training samples, as many as given"));
  options.push_back(whole_option("test_samples", std::nullopt, 1, UINT32_MAX, "likewise for testing"));
  return options;
}

DataSets with_picture_options(DataSets sets, const Options& options) {
  shorten(sets.train, options, "train_samples");
  shorten(sets.test, options, "test_samples");
  const std::vector<float> black = zero_inputs(sets.normalization, sets.train->shape().channels);
  if (options.has("pad")) {
    const auto side = static_cast<std::uint32_t>(options.whole("pad"));
    for (auto* set : {&sets.train, &sets.test})
      *set = std::make_shared<const PaddedDataSet>(std::move(*set), side, side, black);
  }
  sets.augmentation = {static_cast<std::uint32_t>(options.whole("crop")), options.flag("flip"), black};
  const nn::Shape shape = sets.train->shape();
  if (sets.augmentation.crop >= std::min(shape.height, shape.width) && sets.augmentation.crop > 0) {
    throw Failure(ExitCode::configuration, "crop = " + std::to_string(sets.augmentation.crop) +
                                               ": samples are " + std::to_string(shape.height) + " x " +
                                               std::to_string(shape.width) +
                                               ": give less than their height and width, or leave it out");
  }
  return sets;
}

}  // namespace steelyard
