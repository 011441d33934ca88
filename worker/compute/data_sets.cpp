#include "worker/compute/data_sets.h"

#include <filesystem>
#include <optional>

#include "core/error.h"
#include "worker/compute/idx.h"
#include "worker/compute/synthetic.h"

namespace steelyard {
namespace {

// Far beyond anything useful, and small enough that no product of them overflows.
constexpr std::uint64_t most_samples = std::uint64_t{1} << 40;
constexpr std::uint64_t most_classes = 1 << 16;
constexpr std::uint64_t longest_side = 1 << 14;
constexpr std::uint64_t most_prototype_floats = std::uint64_t{1} << 28;

[[noreturn]] void refuse(const std::string& message) { throw Failure(ExitCode::configuration, message); }

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
    refuse("there is no folder " + dir +
           ": install the Debian package dataset-fashion-mnist (script/setup does), or point data.dir to the"
           " folder with the four IDX files");
  }
  return open_idx(files_in(dir), 10);
}

// Single files go before the folder, so that one of the four can be exchanged.
DataSets idx(const Options& options) {
  IdxFiles files;
  if (options.has("dir")) files = files_in(options.text("dir"));
  const auto choose = [&](const char* key, std::filesystem::path& file) {
    if (options.has(key)) file = options.text(key);
    if (file.empty()) refuse(std::string("no option ") + key + ": give this file, or dir");
  };
  choose("train_images", files.train_images);
  choose("train_labels", files.train_labels);
  choose("test_images", files.test_images);
  choose("test_labels", files.test_labels);
  std::optional<std::uint32_t> classes;
  if (options.has("classes")) classes = static_cast<std::uint32_t>(options.whole("classes"));
  return open_idx(files, classes);
}

DataSets synthetic(const Options& options) {
  const auto small = [&](const char* key) { return static_cast<std::uint32_t>(options.whole(key)); };
  SyntheticOptions train;
  train.classes = small("classes");
  train.shape = {small("height"), small("width"), small("channels")};
  train.noise = options.number("noise");
  train.seed = options.whole("seed");
  if (train.classes * train.shape.size() > most_prototype_floats) {
    refuse("classes x height x width x channels is more than " + std::to_string(most_prototype_floats) +
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
  if (!sets.train || !sets.test) refuse("it is incomplete: make a training and a test set");
  if (sets.train->size() == 0 || sets.test->size() == 0) refuse("it has a set without samples");
  if (sets.train->shape() != sets.test->shape() || sets.train->classes() != sets.test->classes()) {
    refuse("training and test set differ in shape or classes");
  }
}

Option side(const char* name, std::uint64_t otherwise) {
  return whole_option(name, otherwise, 1, longest_side, "of the pictures");
}

}  // namespace

const DataTable& built_in_data_sets() {
  static const DataTable table{
      {"fashion-mnist",
       fashion_mnist,
       "60,000 + 10,000 pictures of clothes, 28 x 28 grey, in ten classes (Xiao et al. 2017)",
       {text_option("dir", "/usr/share/datasets/fashion-mnist", "folder with the four IDX files")}},
      {"idx",
       idx,
       "any four IDX files, gzipped or not",
       {text_option("dir", "", "folder with files called as those of MNIST; or each by its own option:"),
        text_option("train_images", "", "a file"), text_option("train_labels", "", "a file"),
        text_option("test_images", "", "a file"), text_option("test_labels", "", "a file"),
        whole_option("classes", std::nullopt, 2, 256, "left out: the highest label for training + 1")}},
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

void read_sample(const DataSet& data, std::uint64_t index, float* into, std::uint32_t& label,
                 const std::function<std::string()>& place) {
  try {
    data.read(index, into, label);
  } catch (...) {
    in_name_of(place(), [] { throw; });
  }
  if (label < data.classes()) return;
  refuse(place() + ": its label is " + std::to_string(label) + ", and with " +
         std::to_string(data.classes()) + " classes labels go from 0 to " +
         std::to_string(data.classes() - 1) + ": correct the label, or classes()");
}

}  // namespace steelyard
