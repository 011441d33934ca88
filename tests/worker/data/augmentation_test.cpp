#include "worker/data/augmentation.h"

#include <gmock/gmock.h>

#include <bit>
#include <map>
#include <numeric>

#include "tests/worker/made_data.h"
#include "worker/compute/feed.h"

namespace steelyard::augmentation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSubsetOf;

constexpr nn::Shape shape{3, 4, 2};

// Pixels have the values 1 + index, so no pixel is 0.
std::vector<float> picture() {
  std::vector<float> values(shape.size());
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

std::vector<float> augmented(const Augmentation& how, std::uint64_t position, std::uint64_t epoch = 2,
                             std::uint64_t seed = 1) {
  std::vector<float> values(shape.size());
  take_window(window_of(how, seed, epoch, position), shape, how.fill, picture().data(), values.data());
  return values;
}

TEST(Augmentation, IsAFunctionOfSeedEpochAndPosition) {
  const Augmentation how{.crop = 2, .flip = true};
  int others = 0;
  for (std::uint64_t position = 0; position < 50; ++position) {
    EXPECT_EQ(augmented(how, position), augmented(how, position));
    others += augmented(how, position) != augmented(how, position, 3) ? 1 : 0;
    others += augmented(how, position) != augmented(how, position, 2, 9) ? 1 : 0;
  }
  EXPECT_GT(others, 80) << "each epoch and each seed has its own draws";
}

TEST(Augmentation, MirrorsHalfOfThePictures) {
  std::vector<float> mirrored;
  for (int row = 0; row < 3; ++row) {
    for (int column = 3; column >= 0; --column)
      for (int channel = 0; channel < 2; ++channel)
        mirrored.push_back(static_cast<float>(1 + (row * 4 + column) * 2 + channel));
  }
  std::map<std::vector<float>, int> seen;
  for (std::uint64_t position = 0; position < 1000; ++position) ++seen[augmented({.flip = true}, position)];
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_NEAR(seen[mirrored], 500, 80);
  EXPECT_NEAR(seen[picture()], 500, 80);
}

TEST(Augmentation, ShiftsByUpToCropPixelsAndFillsTheRest) {
  const Augmentation how{.crop = 1, .flip = false, .fill = {-1, -2}};
  std::map<std::vector<float>, int> seen;
  for (std::uint64_t position = 0; position < 900; ++position) ++seen[augmented(how, position)];
  EXPECT_EQ(seen.size(), 9U) << "3 x 3 shifts";
  for (const auto& [values, times] : seen) EXPECT_NEAR(times, 100, 50);
  std::vector<float> down_right;  // the window one pixel further down and right
  for (int row = 1; row <= 3; ++row) {
    for (int column = 1; column <= 4; ++column) {
      const bool inside = row < 3 && column < 4;
      const auto first = static_cast<float>(1 + (row * 4 + column) * 2);
      down_right.insert(down_right.end(), {inside ? first : -1, inside ? first + 1 : -2});
    }
  }
  EXPECT_TRUE(seen.contains(down_right));
  EXPECT_TRUE(seen.contains(picture()));
}

// A worker of another release must see the same samples.
TEST(Augmentation, BitsNeverChange) {
  const auto digest = [](const Augmentation& how, nn::Shape its) {
    std::vector<float> values(its.size()), whole(its.size());
    std::iota(whole.begin(), whole.end(), 1.0F);
    std::uint64_t key = 0;
    for (std::uint64_t position = 0; position < 40; ++position) {
      take_window(window_of(how, 5, 3, position), its, how.fill, whole.data(), values.data());
      for (const float value : values) key = mix(key ^ std::bit_cast<std::uint32_t>(value));
    }
    return key;
  };
  EXPECT_EQ(digest({.crop = 4, .flip = true, .fill = {-1, -2, -3}}, {32, 32, 3}), 6529800554486346668u);
  EXPECT_EQ(digest({.crop = 2, .flip = true, .fill = {-1}}, {28, 28, 1}), 11553829896745676478u);
  EXPECT_EQ(digest({.crop = 2, .flip = true}, {3, 5, 4}), 13471252441308800627u);
}

// Each pixel of the sample is that of the picture at its place, for all windows and numbers of channels.
TEST(Augmentation, AWindowHasThePixelsOfThePicture) {
  for (const std::uint32_t channels : {1U, 2U, 3U, 5U}) {
    for (const std::uint32_t width : {1U, 4U, 7U}) {
      const nn::Shape its{3, width, channels};
      std::vector<float> whole(its.size()), values(its.size()), fill(channels);
      std::iota(whole.begin(), whole.end(), 1.0F);
      std::iota(fill.begin(), fill.end(), -9.0F);
      const auto wide = static_cast<std::int64_t>(width);
      for (std::int64_t key = 0; key < 7 * (2 * wide + 3) * 2; ++key) {
        const Window window{key % 7 - 3, key / 7 % (2 * wide + 3) - wide - 1, key / 7 / (2 * wide + 3) == 1};
        take_window(window, its, fill, whole.data(), values.data());
        for (std::size_t at = 0; at < values.size(); ++at) {
          const auto pixel = static_cast<std::int64_t>(at / channels), column = pixel % wide;
          const std::int64_t y = pixel / wide + window.down;
          const std::int64_t x = (window.flipped ? wide - 1 - column : column) + window.right;
          const bool inside = y >= 0 && y < 3 && x >= 0 && x < wide;
          const auto from = static_cast<std::size_t>(y * wide + x) * channels + at % channels;
          ASSERT_EQ(values[at], inside ? whole[from] : fill[at % channels])
              << window.down << ' ' << window.right << ' ' << window.flipped;
        }
      }
    }
  }
}

TEST(Augmentation, AppliesOnlyToTraining) {
  const auto set = std::make_shared<NumberedData>(100);
  const DataSets data{
      .train = set, .test = set, .name = "numbers", .augmentation = {.crop = 0, .flip = true}};
  BatchBuffer buffer({1, 1, 2}, 1, cpu_sizes);
  const nn::MicroBatch& test = buffer.fill(SampleOrder(data, Purpose::evaluate, 1, 0), {0, 32});
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(test.inputs[2 * i], static_cast<float>(i));
}

}  // namespace
}  // namespace steelyard::augmentation_test
