#include "worker/compute/data_sets.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/text.h"
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

// The options of one data set: text, as the job file has it, until somebody asks for a number. What is not
// given is nothing, so that defaults stand where they are used.
class Options {
 public:
  Options(std::string name, const DataOptions& given, const std::vector<std::string>& known)
      : name_(std::move(name)), given_(given) {
    std::string list;
    for (const std::string& option : known) list += (list.empty() ? "" : ", ") + option;
    for (const auto& [key, value] : given) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        refuse("data set '" + name_ + "' has no option '" + key + "'; it has: " + list);
      }
    }
  }

  [[nodiscard]] std::optional<std::string> text(const std::string& key) const {
    const auto found = given_.find(key);
    return found == given_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::optional<std::uint64_t> whole(const std::string& key, std::uint64_t least,
                                                   std::uint64_t most) const {
    const std::string range = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    return parsed<std::uint64_t>(key, range, [&](std::uint64_t n) { return least <= n && n <= most; });
  }
  [[nodiscard]] std::optional<double> real(const std::string& key, double most) const {
    const std::string range = "a number from 0 to " + std::to_string(most);
    return parsed<double>(key, range, [&](double x) { return 0 <= x && x <= most; });  // false for NaN
  }

 private:
  template <class Number, class Allowed>
  std::optional<Number> parsed(const std::string& key, const std::string& range, Allowed allowed) const {
    const std::optional<std::string> value = text(key);
    if (!value) return std::nullopt;
    const std::optional<Number> number = number_in<Number>(*value);
    if (!number || !allowed(*number)) {
      refuse("data set '" + name_ + "', option " + key + " = '" + *value + "': give " + range);
    }
    return number;
  }

  std::string name_;
  const DataOptions& given_;
};

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

DataSets fashion_mnist(const DataOptions& given) {
  const Options options("fashion-mnist", given, {"dir"});
  const std::string dir = options.text("dir").value_or("/usr/share/datasets/fashion-mnist");
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored)) {
    refuse("data set 'fashion-mnist': there is no folder " + dir +
           ": install the Debian package dataset-fashion-mnist (script/setup does), or point data.dir to the"
           " folder with the four IDX files");
  }
  return open_idx(files_in(dir), 10);
}

// Single files go before the folder, so that one of the four can be exchanged.
DataSets idx(const DataOptions& given) {
  const Options options("idx", given,
                        {"classes", "dir", "test_images", "test_labels", "train_images", "train_labels"});
  IdxFiles files;
  if (const auto dir = options.text("dir")) files = files_in(*dir);
  const auto choose = [&](const char* key, std::filesystem::path& file) {
    if (const auto path = options.text(key)) file = *path;
    if (file.empty()) refuse(std::string("data set 'idx': no option ") + key + ": give this file, or dir");
  };
  choose("train_images", files.train_images);
  choose("train_labels", files.train_labels);
  choose("test_images", files.test_images);
  choose("test_labels", files.test_labels);
  std::optional<std::uint32_t> classes;
  if (const auto number = options.whole("classes", 2, 256)) classes = static_cast<std::uint32_t>(*number);
  return open_idx(files, classes);
}

DataSets synthetic(const DataOptions& given) {
  const Options options("synthetic", given,
                        {"channels", "classes", "height", "noise", "seed", "test", "train", "width"});
  const auto side = [&](const char* key, std::uint32_t otherwise) {
    return static_cast<std::uint32_t>(options.whole(key, 1, longest_side).value_or(otherwise));
  };
  SyntheticOptions train, test;
  train.classes =
      static_cast<std::uint32_t>(options.whole("classes", 2, most_classes).value_or(train.classes));
  train.shape = {side("height", 28), side("width", 28), side("channels", 1)};
  train.noise = options.real("noise", 1000).value_or(train.noise);
  train.seed = options.whole("seed", 0, UINT64_MAX).value_or(train.seed);
  if (train.classes * train.shape.size() > most_prototype_floats) {
    refuse("data set 'synthetic': classes x height x width x channels is more than " +
           std::to_string(most_prototype_floats) + ": make the pictures smaller");
  }
  test = train;
  test.part = 1;
  train.samples = options.whole("train", 1, most_samples).value_or(10000);
  test.samples = options.whole("test", 1, most_samples).value_or(1000);
  return {std::make_shared<const SyntheticDataSet>(train), std::make_shared<const SyntheticDataSet>(test)};
}

// Asked of users' data sets as well: what is wrong here would be found in the middle of training otherwise.
void check(const std::string& name, const DataSets& sets) {
  if (!sets.train || !sets.test)
    refuse("data set '" + name + "' is incomplete: make a training and a test set");
  if (sets.train->size() == 0 || sets.test->size() == 0)
    refuse("data set '" + name + "' has a set without samples");
  if (sets.train->shape() != sets.test->shape() || sets.train->classes() != sets.test->classes()) {
    refuse("data set '" + name + "': training and test set differ in shape or classes");
  }
}

}  // namespace

const DataTable& built_in_data_sets() {
  static const DataTable table{{"fashion-mnist", fashion_mnist}, {"idx", idx}, {"synthetic", synthetic}};
  return table;
}

DataSets open_data(const std::string& name, const DataOptions& options, const DataTable& extra) {
  // The user's table first: a data set of their own may replace one of ours.
  std::string known;
  for (const DataTable* table : {&extra, &built_in_data_sets()}) {
    if (const auto found = table->find(name); found != table->end()) {
      DataSets sets = found->second(options);
      check(name, sets);
      return sets;
    }
    for (const auto& [other, open] : *table) known += (known.empty() ? "" : ", ") + other;
  }
  refuse("there is no data set '" + name + "'; known are: " + known);
}

}  // namespace steelyard
