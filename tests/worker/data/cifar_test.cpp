#include "worker/data/sets/cifar.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"
#include "worker/data/data_sets.h"

namespace steelyard::cifar_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One picture. In each of its three planes all pixels are equal, except the second green one.
Bytes record(const Bytes& labels, Bytes colours, std::uint8_t second_green) {
  Bytes bytes = labels;
  for (const std::uint8_t colour : colours) bytes.insert(bytes.end(), 1024, colour);
  bytes[labels.size() + 1024 + 1] = second_green;
  return bytes;
}

TEST(Cifar, PlanesBecomeChannelsAndEachIsNormalized) {
  const TemporaryFolder folder;
  const auto first = folder.write("1", record({3}, {10, 0, 200}, 255)),
             second = folder.write(
                 "2.gz", gzipped(joined(record({9}, {30, 0, 200}, 0), record({0}, {10, 0, 200}, 0)))),
             test = folder.write("t", record({1}, {10, 255, 200}, 0));
  const DataSets sets = open_cifar({first, second}, {test}, {});
  EXPECT_EQ(sets.train->size(), 3U);
  EXPECT_EQ(sets.test->size(), 1U);
  EXPECT_EQ(sets.train->shape(), (nn::Shape{32, 32, 3}));
  EXPECT_EQ(sets.train->classes(), 10U);
  const Normalization& n = sets.normalization;
  ASSERT_EQ(n.mean.size(), 3U);
  EXPECT_NEAR(n.mean[0], 50.0 / 3 / 255, 1e-9);
  EXPECT_NEAR(n.deviation[2], 1, 1e-9) << "one value only";
  const auto input = [&](double byte, std::size_t channel) {
    return static_cast<float>((byte / 255 - n.mean[channel]) / n.deviation[channel]);
  };
  const Sample sample = sample_of(*sets.train, 0);
  EXPECT_THAT(sample.labels, ElementsAre(3));
  for (const std::size_t pixel : {0, 1, 1023}) {
    EXPECT_FLOAT_EQ(sample.values[pixel * 3], input(10, 0));
    EXPECT_FLOAT_EQ(sample.values[pixel * 3 + 1], input(pixel == 1 ? 255 : 0, 1));
    EXPECT_FLOAT_EQ(sample.values[pixel * 3 + 2], input(200, 2));
  }
  EXPECT_THAT(sample_of(*sets.train, 1).labels, ElementsAre(9));
  EXPECT_THAT(sample_of(*sets.train, 2).labels, ElementsAre(0));
  EXPECT_FLOAT_EQ(sample_of(*sets.test, 0).values[1], input(255, 1)) << "on the scale of the training set";
  sets.train->prepare(std::vector<std::uint64_t>{2, 0, 3, UINT64_MAX});  // two of them do not exist
  EXPECT_THAT(sample_of(*sets.train, 2).labels, ElementsAre(0));
}

TEST(Cifar, Cifar100HasTwoKindsOfLabels) {
  const TemporaryFolder folder;
  folder.write("train.bin", record({4, 77}, {1, 2, 3}, 4));
  folder.write("test.bin", record({19, 99}, {1, 2, 3}, 4));
  OptionTexts options{{"dir", folder.path()}, {"pad", "40"}, {"crop", "4"}, {"flip", "true"}};
  const DataSets fine = open_data("cifar-100", options);
  EXPECT_EQ(fine.train->classes(), 100U);
  EXPECT_EQ(fine.train->shape(), (nn::Shape{40, 40, 3}));
  EXPECT_THAT(sample_of(*fine.train, 0).labels, ElementsAre(77));
  EXPECT_EQ(fine.augmentation.crop, 4U);
  EXPECT_TRUE(fine.augmentation.flip);
  options["labels"] = "coarse";
  const DataSets coarse = open_data("cifar-100", options);
  EXPECT_EQ(coarse.train->classes(), 20U);
  EXPECT_THAT(sample_of(*coarse.test, 0).labels, ElementsAre(19));
}

TEST(Cifar, RefusesOtherFiles) {
  const TemporaryFolder folder;
  const auto complaint = [&](const Bytes& bytes) {
    const auto file = folder.write("spoilt", bytes);
    return complaint_of([&] { open_cifar({file}, {file}, {}); });
  };
  Bytes cut = record({3}, {1, 2, 3}, 4);
  cut.pop_back();
  EXPECT_THAT(complaint({}), HasSubstr("byte 0: expected records of 3073 bytes, found none"));
  EXPECT_THAT(complaint(cut), HasSubstr("found none"));
  EXPECT_THAT(complaint(joined(record({3}, {1, 2, 3}, 4), {1, 2})),
              AllOf(HasSubstr("spoilt, byte 3073"), HasSubstr("2 bytes after the last")));
  EXPECT_THAT(complaint(joined(record({3}, {1, 2, 3}, 4), record({10}, {1, 2, 3}, 4))),
              HasSubstr("byte 3073: expected a label below 10, found 10"));
}

}  // namespace
}  // namespace steelyard::cifar_test
