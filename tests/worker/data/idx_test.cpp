#include "worker/data/sets/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/data_sets.h"

namespace steelyard::idx_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    return failure.what();
  }
  return "no failure";
}

std::string refused_images(const Bytes& bytes) {
  const TemporaryFolder folder;
  const auto file = folder.write("images", bytes);
  return refusal([&] { read_idx(file, 3); });
}

// Two pictures of 2 x 3.
const Bytes pixels{0, 255, 0, 255, 0, 255, 51, 51, 51, 102, 102, 102};

// A complete set of files. A test may replace parts before open().
struct Files {
  Bytes train_images = idx_bytes({2, 2, 3}, pixels), train_labels = idx_bytes({2}, {1, 0});
  Bytes test_images = idx_bytes({1, 2, 3}, {0, 51, 102, 153, 204, 255}), test_labels = idx_bytes({1}, {1});

  DataSets open(std::optional<std::uint32_t> classes = std::nullopt) const {
    const TemporaryFolder folder;
    return open_idx({.train_images = folder.write("train-images", train_images),
                     .train_labels = folder.write("train-labels", train_labels),
                     .test_images = folder.write("test-images", test_images),
                     .test_labels = folder.write("test-labels", test_labels)},
                    classes);
  }
};

TEST(ReadIdx, GivesSizesAndValues) {
  const TemporaryFolder folder;
  const Bytes bytes = idx_bytes({2, 2, 3}, pixels);
  for (const Bytes& stored : {bytes, gzipped(bytes)}) {
    const IdxArray array = read_idx(folder.write("images", stored), 3);
    EXPECT_THAT(array.sizes, ElementsAre(2, 2, 3));
    EXPECT_TRUE(std::ranges::equal(array.values, pixels));
  }
}

TEST(ReadIdx, ReadsFilesLongerThanOneBlock) {
  const TemporaryFolder folder;
  Bytes values(3'000'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * i >> 3);
  const Bytes bytes = idx_bytes({static_cast<std::uint32_t>(values.size())}, values);
  EXPECT_TRUE(std::ranges::equal(read_idx(folder.write("plain", bytes), 1).values, values));
  EXPECT_TRUE(std::ranges::equal(read_idx(folder.write("packed", gzipped(bytes)), 1).values, values));
}

TEST(ReadIdx, RefusesAnotherMagicNumber) {
  EXPECT_THAT(
      refused_images(idx_bytes({12}, pixels)),
      AllOf(HasSubstr("byte 0"), HasSubstr("expected the magic number 2051"), HasSubstr("found 2049")));
  Bytes floats = idx_bytes({2, 2, 3}, pixels);
  floats[2] = 0x0D;
  EXPECT_THAT(refused_images(floats), AllOf(HasSubstr("byte 0"), HasSubstr("2051"), HasSubstr("3331")));
  Bytes shifted = idx_bytes({2, 2, 3}, pixels);
  shifted[0] = 1;
  EXPECT_THAT(refused_images(shifted), HasSubstr("found 16779267"));
}

TEST(ReadIdx, RefusesATruncatedHeader) {
  const Bytes whole = idx_bytes({2, 2, 3}, pixels);
  for (const long kept : {0, 3, 4, 7, 8, 12, 15}) {
    const std::string offset = "byte " + std::to_string(kept / 4 * 4) + ":";
    EXPECT_THAT(refused_images(Bytes(whole.begin(), whole.begin() + kept)),
                AllOf(HasSubstr(offset), HasSubstr("found the end of the file")));
  }
}

TEST(ReadIdx, RefusesTooFewValues) {
  const Bytes whole = idx_bytes({2, 2, 3}, pixels);
  const Bytes cut(whole.begin(), whole.end() - 1);
  EXPECT_THAT(refused_images(cut), AllOf(HasSubstr("byte 27"), HasSubstr("12 values from byte 16 on"),
                                         HasSubstr("found the end of the file")));
  EXPECT_THAT(refused_images(gzipped(cut)), HasSubstr("byte 27"));
}

TEST(ReadIdx, RefusesTooManyValues) {
  const Bytes more = joined(idx_bytes({2, 2, 3}, pixels), {0});
  for (const Bytes& stored : {more, gzipped(more)}) {
    EXPECT_THAT(refused_images(stored),
                AllOf(HasSubstr("byte 28"), HasSubstr("expected the end of the file")));
  }
}

TEST(ReadIdx, RefusesSizesThatTheFileCannotHold) {
  EXPECT_THAT(refused_images(idx_bytes({2, 0, 3}, {})), AllOf(HasSubstr("byte 8"), HasSubstr("found 0")));
  EXPECT_THAT(refused_images(idx_bytes({2, 20, 3}, pixels)),
              AllOf(HasSubstr("byte 8"), HasSubstr("at most 28 bytes"), HasSubstr("2 x 20")));
  // The product would be 0 in 64 bits, and 4 GB x 4 GB is more than can be allocated.
  EXPECT_THAT(refused_images(idx_bytes({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, pixels)), HasSubstr("byte 4"));
  EXPECT_THAT(refused_images(gzipped(idx_bytes({0x80000000, 0x80000000, 4}, pixels))), HasSubstr("byte 4"));
}

TEST(Measure, IsMeanAndDeviationOfTheScaledPixels) {
  const Normalization both = measure(Bytes{0, 255});
  EXPECT_DOUBLE_EQ(both.mean[0], 0.5);
  EXPECT_DOUBLE_EQ(both.deviation[0], 0.5);
  const Normalization one_colour = measure(Bytes{51, 51});
  EXPECT_DOUBLE_EQ(one_colour.mean[0], 0.2);
  EXPECT_DOUBLE_EQ(one_colour.deviation[0], 1);
}

TEST(OpenIdx, ReadsBothSetsOnTheScaleOfTheTrainingSet) {
  const DataSets sets = Files().open();
  EXPECT_EQ(sets.train->size(), 2u);
  EXPECT_EQ(sets.test->size(), 1u);
  EXPECT_EQ(sets.train->shape(), (nn::Shape{2, 3, 1}));
  EXPECT_EQ(sets.train->classes(), 2u);

  const Normalization n = measure(pixels);
  const auto expect_sample = [&](const DataSet& set, std::uint64_t index, const Bytes& bytes,
                                 std::uint32_t wanted_label) {
    std::vector<float> values(bytes.size());
    std::uint32_t label = 99;
    set.read(index, values.data(), &label);
    EXPECT_EQ(label, wanted_label);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_FLOAT_EQ(values[i], static_cast<float>((bytes[i] / 255.0 - n.mean[0]) / n.deviation[0]));
    }
  };
  expect_sample(*sets.train, 0, {0, 255, 0, 255, 0, 255}, 1);
  expect_sample(*sets.train, 1, {51, 51, 51, 102, 102, 102}, 0);
  expect_sample(*sets.test, 0, {0, 51, 102, 153, 204, 255}, 1);
}

// The pictures that come with the program: no file is named, and every class is in both sets.
// A hint changes nothing, whatever it names.
TEST(OpenIdx, SamplesMayBePrepared) {
  const DataSets sets = Files().open();
  std::vector<float> values(6), prepared(6);
  std::uint32_t label = 0;
  sets.train->read(1, values.data(), &label);
  sets.train->prepare(std::vector<std::uint64_t>{1, 2, UINT64_MAX});
  sets.train->read(1, prepared.data(), &label);
  EXPECT_EQ(prepared, values);
}

TEST(OpenIdx, ReadsTheDigits) {
  const DataSets sets = open_data("digits", {});
  EXPECT_EQ(sets.train->size(), 1437u);
  EXPECT_EQ(sets.test->size(), 360u);
  EXPECT_EQ(sets.train->shape(), (nn::Shape{8, 8, 1}));
  EXPECT_EQ(sets.train->classes(), 10u);
  for (const auto& set : {sets.train, sets.test}) {
    std::vector<std::uint64_t> counts(10);
    std::vector<float> picture(64);
    for (std::uint64_t index = 0; index < set->size(); ++index) {
      std::uint32_t label = 99;
      set->read(index, picture.data(), &label);
      ++counts.at(label);
    }
    EXPECT_THAT(counts, testing::Each(testing::Gt(set->size() / 15)));
  }
}

TEST(OpenIdx, RefusesDifferentCounts) {
  Files files;
  files.train_labels = idx_bytes({3}, {1, 0, 1});
  EXPECT_THAT(refusal([&] { files.open(); }),
              AllOf(HasSubstr("train-labels, byte 4"), HasSubstr("expected 2 labels"), HasSubstr("found 3")));
  files = {};
  files.test_labels = idx_bytes({2}, {1, 0});
  EXPECT_THAT(refusal([&] { files.open(); }), HasSubstr("test-labels, byte 4"));
}

TEST(OpenIdx, RefusesLabelsBeyondTheClasses) {
  Files files;
  files.train_labels = idx_bytes({2}, {1, 7});
  EXPECT_THAT(refusal([&] { files.open(5); }),
              AllOf(HasSubstr("train-labels, byte 9"), HasSubstr("below 5"), HasSubstr("found 7")));
  EXPECT_EQ(files.open().train->classes(), 8u);
  // The test set has a class that the training set lacks.
  files.train_labels = idx_bytes({2}, {1, 0});
  files.test_labels = idx_bytes({1}, {2});
  EXPECT_THAT(refusal([&] { files.open(); }), AllOf(HasSubstr("test-labels, byte 8"), HasSubstr("below 2")));
  EXPECT_EQ(files.open(3).test->classes(), 3u);
}

TEST(OpenIdx, RefusesTestPicturesOfAnotherShape) {
  Files files;
  files.test_images = idx_bytes({1, 2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(refusal([&] { files.open(); }),
              AllOf(HasSubstr("test-images, byte 12"), HasSubstr("expected 3"), HasSubstr("found 2")));
  files.test_images = idx_bytes({1, 3, 3}, Bytes(9));
  EXPECT_THAT(refusal([&] { files.open(); }), AllOf(HasSubstr("byte 8"), HasSubstr("expected 2")));
}

TEST(OpenIdx, RefusesLabelsInPlaceOfPictures) {
  Files files;
  std::swap(files.train_images, files.train_labels);
  EXPECT_THAT(refusal([&] { files.open(); }),
              AllOf(HasSubstr("train-images, byte 0"), HasSubstr("found 2049")));
}

}  // namespace
}  // namespace steelyard::idx_test
