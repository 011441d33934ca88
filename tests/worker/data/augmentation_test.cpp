#include "worker/data/samples.h"

#include <gmock/gmock.h>

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
  std::vector<float> values = picture(), scratch(values.size());
  augment(how, shape, seed, epoch, position, values.data(), scratch.data());
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
