#include "worker/data/data_sets.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>

#include "core/error.h"
#include "core/options.h"
#include "worker/data/byte_source.h"
#include "worker/data/cifar.h"
#include "worker/data/idx.h"
#include "worker/data/normalization.h"
#include "worker/data/npy.h"
#include "worker/data/synthetic.h"
#include "worker/data/text_rows.h"

namespace steelyard {
namespace {

// Far beyond anything useful, and small enough that no product of them overflows.
constexpr std::uint64_t most_samples = std::uint64_t{1} << 40;
constexpr std::uint64_t most_classes = 1 << 16;
constexpr std::uint64_t longest_side = 1 << 14;
constexpr std::uint64_t most_prototype_floats = std::uint64_t{1} << 28;

[[noreturn]] void refuse_set(const std::string& message) { throw Failure(ExitCode::configuration, message); }

// What options of pictures ask for. What is beyond a picture is black: a raw value of zero.
DataSets pictures(DataSets sets, const Options& options) {
  const std::vector<float> black = zero_inputs(sets.normalization, sets.train->shape().channels);
  if (options.has("pad")) {
    const auto side = static_cast<std::uint32_t>(options.whole("pad"));
    for (auto* set : {&sets.train, &sets.test})
      *set = std::make_shared<const PaddedDataSet>(std::move(*set), side, side, black);
  }
  sets.augmentation = {static_cast<std::uint32_t>(options.whole("crop")), options.flag("flip"), black};
  const nn::Shape shape = sets.train->shape();
  if (sets.augmentation.crop >= std::min(shape.height, shape.width) && sets.augmentation.crop > 0) {
    refuse_set("crop = " + std::to_string(sets.augmentation.crop) + ": samples are " +
               std::to_string(shape.height) + " x " + std::to_string(shape.width) +
               ": give less than their height and width, or leave it out");
  }
  return sets;
}

std::optional<std::uint32_t> classes_of(const Options& options) {
  if (!options.has("classes")) return std::nullopt;
  return static_cast<std::uint32_t>(options.whole("classes"));
}

// The file of this name in `dir`, or its gzipped twin.
std::filesystem::path in_folder(const std::filesystem::path& dir, const std::string& name) {
  const std::filesystem::path plain = dir / name, packed = dir / (name + ".gz");
  std::error_code ignored;
  return std::filesystem::exists(plain, ignored) || !std::filesystem::exists(packed, ignored) ? plain
                                                                                              : packed;
}

IdxFiles files_in(const std::filesystem::path& dir) {
  return {.train_images = in_folder(dir, "train-images-idx3-ubyte"),
          .train_labels = in_folder(dir, "train-labels-idx1-ubyte"),
          .test_images = in_folder(dir, "t10k-images-idx3-ubyte"),
          .test_labels = in_folder(dir, "t10k-labels-idx1-ubyte")};
}

DataSets fashion_mnist(const Options& options) {
  const std::string& dir = options.text("dir");
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored)) {
    refuse_set(
        "there is no folder " + dir +
        ": install the Debian package dataset-fashion-mnist (script/setup does), or point data.dir to the"
        " folder with the four IDX files");
  }
  return pictures(open_idx(files_in(dir), 10), options);
}

// Single files go before the folder, so that one of the four can be exchanged.
DataSets idx(const Options& options) {
  IdxFiles files;
  if (options.has("dir")) files = files_in(options.text("dir"));
  const auto choose = [&](const char* key, std::filesystem::path& file) {
    if (options.has(key)) file = options.text(key);
    if (file.empty()) refuse_set(std::string("no option ") + key + ": give this file, or dir");
  };
  choose("train_images", files.train_images);
  choose("train_labels", files.train_labels);
  choose("test_images", files.test_images);
  choose("test_labels", files.test_labels);
  return pictures(open_idx(files, classes_of(options)), options);
}

std::filesystem::path given(const Options& options, const char* key) {
  if (options.has(key)) return options.text(key);
  refuse_set(std::string("no option ") + key + ": give this file");
}

DataSets cifar_10(const Options& options) {
  const std::filesystem::path dir = given(options, "dir");
  std::vector<std::filesystem::path> train;
  for (const char* part : {"1", "2", "3", "4", "5"})
    train.push_back(in_folder(dir, "data_batch_" + std::string(part) + ".bin"));
  return pictures(open_cifar(train, {in_folder(dir, "test_batch.bin")}, {}), options);
}

DataSets cifar_100(const Options& options) {
  const std::filesystem::path dir = given(options, "dir");
  const bool fine = options.text("labels") == "fine";
  const CifarFormat format{.label_bytes = 2, .label_at = fine ? 1U : 0U, .classes = fine ? 100U : 20U};
  return pictures(open_cifar({in_folder(dir, "train.bin")}, {in_folder(dir, "test.bin")}, format), options);
}

DataSets npy(const Options& options) {
  const NpyFiles files{given(options, "train_inputs"), given(options, "train_labels"),
                       given(options, "test_inputs"), given(options, "test_labels")};
  return pictures(open_npy_sets(files, classes_of(options), options.flag("normalize")), options);
}

DataSets csv(const Options& options) {
  return open_csv({given(options, "train"), given(options, "test"),
                   options.has("label") ? options.text("label") : "", options.flag("header"),
                   options.flag("normalize")});
}

DataSets libsvm(const Options& options) {
  const std::uint64_t columns = options.has("columns") ? options.whole("columns") : 0;
  return open_libsvm(given(options, "train"), given(options, "test"), static_cast<std::uint32_t>(columns));
}

DataSets bytes(const Options& options) {
  return open_byte_text(given(options, "path"), static_cast<std::uint32_t>(options.whole("context")));
}

DataSets synthetic(const Options& options) {
  const auto small = [&](const char* key) { return static_cast<std::uint32_t>(options.whole(key)); };
  SyntheticOptions train;
  train.classes = small("classes");
  train.shape = {small("height"), small("width"), small("channels")};
  train.noise = options.number("noise");
  train.seed = options.whole("seed");
  if (train.classes * train.shape.size() > most_prototype_floats) {
    refuse_set("classes x height x width x channels is more than " + std::to_string(most_prototype_floats) +
               ": make the pictures smaller");
  }
  SyntheticOptions test = train;
  test.part = 1;
  train.samples = options.whole("train");
  test.samples = options.whole("test");
  return {std::make_shared<const SyntheticDataSet>(train), std::make_shared<const SyntheticDataSet>(test)};
}

// Asked of users' data sets as well: what is wrong here would be found in the middle of training otherwise.
void check(const DataSets& sets) {
  if (!sets.train || !sets.test) refuse_set("it is incomplete: make a training and a test set");
  if (sets.train->size() == 0 || sets.test->size() == 0) refuse_set("it has a set without samples");
  if (sets.train->shape() != sets.test->shape() || sets.train->classes() != sets.test->classes() ||
      sets.train->labels() != sets.test->labels() || sets.train->labels() == 0) {
    refuse_set("training and test set differ in shape or classes, or in labels of a sample");
  }
}

Option normalize_option() {
  return flag_option("normalize", true, "each channel or column to mean 0 and deviation 1");
}

// The options that all pictures have.
std::vector<Option> with_pictures(std::vector<Option> options) {
  options.push_back(whole_option("pad", std::nullopt, 1, longest_side,
                                 "black border up to a square of so many pixels a side"));
  options.push_back(whole_option("crop", 0, 0, longest_side,
                                 "shift training pictures at random, by up to so many pixels (4 is usual)"));
  options.push_back(flag_option("flip", false, "mirror half of the training pictures, at random"));
  return options;
}

Option side(const char* name, std::uint64_t otherwise) {
  return whole_option(name, otherwise, 1, longest_side, "of the pictures");
}

}  // namespace

const DataTable& built_in_data_sets() {
  static const DataTable table{
      {"fashion-mnist", fashion_mnist,
       "60,000 + 10,000 pictures of clothes, 28 x 28 grey, in ten classes (Xiao et al. 2017)",
       with_pictures(
           {text_option("dir", "/usr/share/datasets/fashion-mnist", "folder with the four IDX files")})},
      {"idx", idx, "any four IDX files, gzipped or not",
       with_pictures(
           {text_option("dir", "", "folder with files called as those of MNIST; or each by its own option:"),
            text_option("train_images", "", "a file"), text_option("train_labels", "", "a file"),
            text_option("test_images", "", "a file"), text_option("test_labels", "", "a file"),
            whole_option("classes", std::nullopt, 2, 256, "left out: the highest label for training + 1")})},
      {"cifar-10", cifar_10,
       "50,000 + 10,000 pictures, 32 x 32 in colour, in ten classes (Krizhevsky 2009), in binary form",
       with_pictures({text_option("dir", "", "folder with data_batch_1.bin to 5 and test_batch.bin")})},
      {"cifar-100", cifar_100, "the same number of pictures in a hundred classes",
       with_pictures(
           {text_option("dir", "", "folder with train.bin and test.bin"),
            word_option("labels", "fine", {"fine", "coarse"}, "100 classes, or the 20 above them")})},
      {"npy", npy,
       "arrays of NumPy: inputs (samples, values) or (samples, height, width, channels), and labels",
       with_pictures({text_option("train_inputs", "", "a file, or an array of an .npz: mnist.npz:x_train"),
                      text_option("train_labels", "", "the same"), text_option("test_inputs", "", "the same"),
                      text_option("test_labels", "", "the same"),
                      whole_option("classes", std::nullopt, 2, most_classes,
                                   "left out: the highest label for training + 1"),
                      normalize_option()})},
      {"csv",
       csv,
       "tables of numbers with a label column, gzipped or not",
       {text_option("train", "", "a file"), text_option("test", "", "a file with the same columns"),
        text_option("label", "", "the label's column, by name or number from 1 on; left out: the last"),
        flag_option("header", true, "whether the first line holds the names of the columns"),
        normalize_option()}},
      {"libsvm",
       libsvm,
       "lines of label index:value ..., the sparse format of LIBSVM, gzipped or not",
       {text_option("train", "", "a file"), text_option("test", "", "a file"),
        whole_option("columns", std::nullopt, 1, 1 << 24, "left out: as many as the files need")}},
      {"bytes",
       bytes,
       "a text as bytes, each to be told from those before it; the last tenth is the test set",
       {text_option("path", "", "a file, or a folder whose files are read in the order of their names"),
        whole_option("context", 256, 1, 1 << 20, "bytes of a sample")}},
      {"synthetic",
       synthetic,
       "noise around one random picture for each class, made as it is needed",
       {whole_option("train", 10000, 1, most_samples, "samples to train on"),
        whole_option("test", 1000, 1, most_samples, "samples to test on"),
        whole_option("classes", 10, 2, most_classes, "of samples"), side("height", 28), side("width", 28),
        side("channels", 1), number_option("noise", 1, 0, 1000, "its deviation; the pictures are in [-1, 1)"),
        whole_option("seed", 1, 0, UINT64_MAX, "of pictures and noise")}}};
  return table;
}

DataSets open_data(const std::string& name, const OptionTexts& options, const DataTable& extra) {
  DataSets sets = make_choice("data set", name, options, extra, built_in_data_sets());
  in_name_of("data set '" + name + "'", [&] { check(sets); });
  sets.name = name;
  return sets;
}

}  // namespace steelyard
