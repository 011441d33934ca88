#include "worker/data/sets/byte_text.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"
#include "tests/worker/made_data.h"
#include "worker/compute/feed.h"
#include "worker/data/data_sets.h"

namespace steelyard::byte_text_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text_of(const Sample& sample) {
  std::string text;
  for (const float value : sample.values) text += static_cast<char>(value);
  return text + '|' + std::string(sample.labels.begin(), sample.labels.end());
}

TEST(ByteText, LabelsAreTheFollowingBytes) {
  const TemporaryFolder folder;
  const DataSets sets = open_byte_text(folder.write("text", bytes_of("abcdefghijklmnopqrstuvwxyz0123")), 2);
  EXPECT_EQ(sets.train->size(), 13U) << "27 bytes: 13 pairs, and one that follows";
  EXPECT_EQ(sets.test->size(), 1U);
  EXPECT_EQ(sets.train->shape(), (nn::Shape{1, 2, 1}));
  EXPECT_EQ(sets.train->labels(), 2U);
  EXPECT_EQ(sets.train->classes(), 256U);
  EXPECT_EQ(text_of(sample_of(*sets.train, 0)), "ab|bc");
  EXPECT_EQ(text_of(sample_of(*sets.train, 1)), "cd|de");
  EXPECT_EQ(text_of(sample_of(*sets.train, 12)), "yz|z0");
  EXPECT_EQ(text_of(sample_of(*sets.test, 0)), "12|23");
}

TEST(ByteText, AFolderIsReadInTheOrderOfItsPaths) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "b");
  folder.write("c", bytes_of("7890123456789"));
  folder.write("a", gzipped(bytes_of("012")));
  folder.write("b/x", bytes_of("345"));
  folder.write("b/y", Bytes());
  folder.write("b/z", bytes_of("6"));
  const DataSets sets = open_data("bytes", {{"path", folder.path()}, {"context", "1"}});
  std::string all;
  for (std::uint64_t i = 0; i < sets.train->size(); ++i)
    all += text_of(sample_of(*sets.train, i)).substr(0, 1);
  EXPECT_EQ(all, "01234567890123456");
  EXPECT_EQ(text_of(sample_of(*sets.train, 2)), "2|3") << "from one file into the next";
  EXPECT_EQ(text_of(sample_of(*sets.test, 0)), "8|9");
}

TEST(ByteText, TheTestSetIsAnotherTextOrAnotherShare) {
  const TemporaryFolder folder;
  const std::string train = folder.write("train", bytes_of("abcdefghij")),
                    test = folder.write("test", bytes_of("XYZ"));
  const DataSets two = open_data("bytes", {{"path", train}, {"test", test}, {"context", "2"}});
  EXPECT_EQ(two.train->size(), 4U);
  EXPECT_EQ(text_of(sample_of(*two.test, 0)), "XY|YZ");
  const DataSets half = open_data("bytes", {{"path", train}, {"holdout", "0.5"}, {"context", "2"}});
  EXPECT_EQ(half.train->size(), 2U);
  EXPECT_EQ(text_of(sample_of(*half.test, 0)), "fg|gh");
  EXPECT_THAT(complaint_of([&] { open_byte_text(train, 5, test); }, ExitCode::configuration),
              HasSubstr("test has 3 bytes, and this is no sample of 5"));
  EXPECT_THAT(complaint_of([&] { open_byte_text(train, 2, {}, 0.9); }, ExitCode::configuration),
              HasSubstr("its first 1, to train on, is no sample of 2"));
}

TEST(ByteText, ATooShortTextIsRefused) {
  const TemporaryFolder folder;
  const auto file = folder.write("text", bytes_of("0123456789"));
  EXPECT_THAT(complaint_of([&] { open_byte_text(file, 1); }, ExitCode::configuration),
              HasSubstr("text has 10 bytes, and its last 1, to test on, is no sample of 1"));
  EXPECT_THAT(complaint_of([&] { open_byte_text(folder.path() / "absent", 1); }),
              HasSubstr("absent does not exist"));
}

TEST(ByteText, AMicroBatchHasAllLabelsOfItsSamples) {
  const TemporaryFolder folder;
  const DataSets sets = open_byte_text(folder.write("text", bytes_of("abcdefghijklmnopqrstuvwxyz0123")), 2);
  BatchBuffer buffer(sets.train->shape(), sets.train->labels(), cpu_sizes);
  const nn::MicroBatch& batch = buffer.fill(SampleOrder(sets, Purpose::train, 1, 0), {0, 3});
  ASSERT_EQ(batch.count, 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(batch.labels[2 * i], batch.inputs[2 * i + 1]);
    EXPECT_EQ(batch.labels[2 * i], batch.inputs[2 * i] + 1) << "the alphabet";
  }
  EXPECT_THAT(std::vector(batch.labels + 6, batch.labels + 8), ElementsAre(0, 0)) << "padding";
}

}  // namespace
}  // namespace steelyard::byte_text_test
