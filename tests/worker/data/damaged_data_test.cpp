// Every reader of data, with damaged files: it refuses the file by name, or all samples can be read. Under
// the sanitizers this also shows that no byte beyond a file is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/support/made_pictures.h"
#include "tests/worker/data/data_checks.h"
#include "tests/worker/data/zip_files.h"
#include "worker/data/data_sets.h"

namespace steelyard::damaged_data_test {
namespace {

using ::testing::HasSubstr;

// Changes some bytes, and sometimes truncates or extends the file.
Bytes damaged(Bytes bytes, std::uint64_t seed) {
  Random random(seed);
  const std::string likely = "0123456789:,\"\n ({<\xFF";
  for (std::uint64_t i = random.below(4); !bytes.empty() && i-- > 0;) {
    const bool early = random.below(2) == 0;
    std::uint8_t& byte = bytes[random.below(early ? std::min<std::size_t>(bytes.size(), 160) : bytes.size())];
    byte = random.below(2) == 0 ? static_cast<std::uint8_t>(random.below(256))
                                : static_cast<std::uint8_t>(likely[random.below(likely.size())]);
  }
  if (random.below(3) == 0) bytes.resize(random.below(bytes.size() + 1));
  if (random.below(8) == 0) bytes.resize(bytes.size() + 1 + random.below(20));
  return bytes;
}

struct Format {
  std::string name;
  OptionTexts options;  // of the files below, by their names
  std::map<std::string, Bytes> files;
};

std::vector<Format> formats() {
  Bytes record(3074, 7);
  record[1] = 77;
  const Bytes csv = bytes_of("x,\"y\",z\n1,2.5,0\n\"3\",-1e2,1\n"),
              svm = bytes_of("1 1:2 3:4\n-1 2:0.5 # it\n"), text = bytes_of(std::string(60, 'x') + "yz"),
              inputs = npy("<f4", "(2, 2, 3)", Bytes(48, 60)), labels = npy("|u1", "(2,)", Bytes{0, 1});
  const test::Pixels pixels{5, 6, 3, Bytes(90, 100)};
  return {{"pictures",
           {{"train", ""}, {"test", ""}, {"size", "[4, 3]"}, {"threads", "1"}},
           {{"x/a.png", test::png_of(pixels)}, {"y/b.jpg", test::jpeg_of(pixels)}}},
          {"csv", {{"train", "a"}, {"test", "b"}}, {{"a", csv}, {"b", csv}}},
          {"libsvm", {{"train", "a"}, {"test", "b"}, {"columns", "64"}}, {{"a", svm}, {"b", svm}}},
          {"bytes", {{"path", "a"}, {"context", "5"}}, {{"a", gzipped(text)}}},
          {"cifar-100", {{"dir", ""}}, {{"train.bin", joined(record, record)}, {"test.bin", record}}},
          {"npy",
           {{"train_inputs", "a"}, {"train_labels", "b"}, {"test_inputs", "a"}, {"test_labels", "b"}},
           {{"a", inputs}, {"b", labels}}},
          {"npy",
           {{"train_inputs", "a"}, {"train_labels", "b"}, {"test_inputs", "a"}, {"test_labels", "b"}},
           {{"a", zipped({{"x.npy", inputs, 8}})}, {"b", zipped({{"y.npy", labels}}, true)}}},
          {"idx",
           {{"train_images", "a"},
            {"train_labels", "b"},
            {"test_images", "a"},
            {"test_labels", "b"},
            {"pad", "5"}},
           {{"a", idx_bytes({2, 2, 3}, Bytes(12, 9))}, {"b", idx_bytes({2}, {0, 1})}}}};
}

TEST(DamagedData, IsRefusedOrCanBeRead) {
  for (const Format& format : formats()) {
    int refused = 0, opened = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      SCOPED_TRACE(format.name + ", seed " + std::to_string(seed));
      const TemporaryFolder folder;
      OptionTexts options = format.options;
      for (auto& [key, value] : options) {
        if (format.files.contains(value) || value.empty()) value = folder.path() / value;
      }
      for (const auto& [name, bytes] : format.files)
        folder.write(name, seed == 0 ? bytes : damaged(bytes, hash(seed, name.size(), bytes.size())));
      try {
        const DataSets sets = open_data(format.name, options);
        ++opened;
        for (const auto& set : {sets.train, sets.test}) {
          ASSERT_LT(set->shape().size(), 1U << 26);
          for (std::uint64_t i = 0; i < set->size(); ++i) {
            for (const std::uint32_t label : sample_of(*set, i).labels) ASSERT_LT(label, set->classes());
          }
        }
      } catch (const Failure& failure) {
        ++refused;
        EXPECT_THAT(failure.what(), HasSubstr("data set '" + format.name + "'"));
        ASSERT_NE(seed, 0U) << failure.what();
      }
    }
    EXPECT_GT(refused, 10) << format.name;
    EXPECT_GT(opened, 10) << format.name;
  }
}

}  // namespace
}  // namespace steelyard::damaged_data_test
