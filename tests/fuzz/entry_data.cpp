#include <map>

#include "core/check.h"
#include "core/error.h"
#include "tests/fuzz/entry.h"
#include "tests/worker/data/zip_files.h"
#include "worker/data/data_sets.h"

namespace steelyard::fuzz {
namespace {

struct Format {
  std::string name;
  OptionTexts options;  // the values are names of files
  std::map<std::string, Bytes> files;
};

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<Format> make_formats() {
  Bytes record(3074, 7);
  record[1] = 77;
  const Bytes csv = bytes_of("x,\"y\",z\n1,2.5,0\n\"3\",-1e2,1\n"),
              svm = bytes_of("1 1:2 3:4\n-1 2:0.5 # it\n"), text = bytes_of(std::string(60, 'x') + "yz"),
              inputs = npy("<f4", "(2, 2, 3)", Bytes(48, 60)), labels = npy("|u1", "(2,)", Bytes{0, 1});
  const OptionTexts arrays{
      {"train_inputs", "a"}, {"train_labels", "b"}, {"test_inputs", "a"}, {"test_labels", "b"}};
  OptionTexts numbers = arrays;
  numbers["targets"] = "numbers";
  const OptionTexts pictures{
      {"train_images", "a"}, {"train_labels", "b"}, {"test_images", "a"}, {"test_labels", "b"}};
  return {
      {"csv", {{"train", "a"}, {"test", "a"}}, {{"a", csv}}},
      {"csv", {{"train", "a"}, {"test", "a"}, {"targets", "numbers"}}, {{"a", csv}}},
      {"libsvm", {{"train", "a"}, {"test", "a"}, {"columns", "64"}}, {{"a", svm}}},
      {"bytes", {{"path", "a"}, {"context", "5"}}, {{"a", gzipped(text)}}},
      {"bytes", {{"path", "a"}, {"context", "5"}}, {{"a", text}}},
      {"cifar-100", {{"dir", ""}}, {{"train.bin", joined(record, record)}, {"test.bin", record}}},
      {"npy", arrays, {{"a", inputs}, {"b", labels}}},
      {"npy", numbers, {{"a", inputs}, {"b", labels}}},
      {"npy", arrays, {{"a", zipped({{"x.npy", inputs, 8}})}, {"b", zipped({{"y.npy", labels}}, true)}}},
      {"idx", pictures, {{"a", idx_bytes({2, 2, 3}, Bytes(12, 9))}, {"b", idx_bytes({2}, {0, 1})}}},
      {"idx", pictures, {{"a", gzipped(idx_bytes({2, 2, 3}, Bytes(12, 9)))}, {"b", idx_bytes({2}, {0, 1})}}}};
}

struct Input {
  const Format* format;
  std::string file;
};
const std::vector<Input>& all_inputs() {
  static const std::vector<Format> formats = make_formats();
  static const std::vector<Input> all = [] {
    std::vector<Input> made;
    for (const Format& format : formats) {
      for (const auto& [name, bytes] : format.files) made.push_back({&format, name});
    }
    return made;
  }();
  return all;
}

void read_all(const DataSet& set) {
  CHECK(set.shape().size() < 1U << 26, "a sample is larger than any file");
  std::vector<float> values(set.shape().size());
  std::vector<std::uint32_t> labels(set.labels());
  std::vector<float> targets(set.targets());
  for (std::uint64_t i = 0; i < set.size(); ++i) {
    set.read(i, values.data(), labels.data());
    for (const std::uint32_t label : labels) CHECK(label < set.classes(), "a label has no class");
    if (set.targets() > 0) set.read_targets(i, targets.data());
  }
}

}  // namespace

bool read_data_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return false;
  const Input& input = all_inputs()[std::to_integer<std::size_t>(bytes[0]) % all_inputs().size()];
  const auto file = bytes.subspan(1);
  static const TemporaryFolder folder;
  OptionTexts options = input.format->options;
  for (auto& [key, value] : options) {
    if (input.format->files.contains(value) || value.empty()) value = (folder.path() / value).string();
  }
  for (const auto& [name, whole] : input.format->files) {
    const std::span given(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
    folder.write(name, name == input.file ? given : std::span<const std::uint8_t>(whole));
  }
  try {
    const DataSets sets = open_data(input.format->name, options);
    read_all(*sets.train);
    read_all(*sets.test);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

std::vector<std::vector<std::byte>> data_inputs() {
  std::vector<std::vector<std::byte>> inputs;
  for (std::size_t i = 0; i < all_inputs().size(); ++i) {
    std::vector<std::byte>& bytes = inputs.emplace_back();
    bytes.push_back(static_cast<std::byte>(i));
    for (const std::uint8_t byte : all_inputs()[i].format->files.at(all_inputs()[i].file))
      bytes.push_back(static_cast<std::byte>(byte));
  }
  return inputs;
}

}  // namespace steelyard::fuzz
