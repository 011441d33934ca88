#include "worker/compute/kept_data.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/worker/kept_pictures.h"

namespace steelyard::kept_data_test {
namespace {

using testing::ElementsAre;

struct KeptDataTest : testing::Test {
  DataSets sets = byte_pictures(3, 2);
  KeptData kept{sets, {0, 1, 2, 3, 1}, {0, 1, 2, 3, 4}};
};

// The samples for tests come behind the others.
TEST_F(KeptDataTest, NumbersTheSamplesOfBothSets) {
  EXPECT_EQ(kept.sample(Purpose::train, 2, {}), nn::KeptSample(2, 0, 0, false));
  EXPECT_EQ(kept.sample(Purpose::evaluate, 1, {}), nn::KeptSample(4, 0, 0, false));
  EXPECT_EQ(kept.sample(Purpose::train, 1, {-3, 4, true}), nn::KeptSample(1, -3, 4, true));
}

TEST_F(KeptDataTest, HasTheLabelsOfEachSample) {
  std::uint32_t label = 7;
  kept.labels({2, 0, 0, false}, &label);
  EXPECT_EQ(label, 2U);
  kept.labels({4, 0, 0, false}, &label);
  EXPECT_EQ(label, 1U);
}

TEST(KeptTargets, AreThoseOfEachSample) {
  class WithTargets final : public BytePictures {
   public:
    using BytePictures::BytePictures;
    [[nodiscard]] std::uint32_t classes() const override { return 2; }
    [[nodiscard]] std::uint32_t targets() const override { return 2; }
  };
  const auto set = std::make_shared<WithTargets>(2);
  const KeptData kept({set, set}, {0, 0, 0, 0}, {1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<float> targets(2);
  kept.targets({2, 0, 0, false}, targets.data());
  EXPECT_THAT(targets, ElementsAre(5, 6));
}

TEST_F(KeptDataTest, ReadsWhatTheDeviceShows) {
  std::vector<float> whole(108), expected(108), read(108);
  std::uint32_t label = 0;
  sets.test->read(1, whole.data(), &label);
  kept.read(kept.sample(Purpose::evaluate, 1, {}), read.data());
  EXPECT_EQ(read, whole);
  const Window window{1, -2, true};
  take_window(window, {6, 6, 3}, sets.augmentation.fill, whole.data(), expected.data());
  kept.read(kept.sample(Purpose::evaluate, 1, window), read.data());
  EXPECT_EQ(read, expected);
}

}  // namespace
}  // namespace steelyard::kept_data_test
