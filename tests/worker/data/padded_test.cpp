#include "worker/data/normalization.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"

namespace steelyard::padded_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One picture of 2 x 1 pixels with two channels: (1, 2) over (3, 4).
class Small final : public DataSet {
 public:
  [[nodiscard]] std::uint64_t size() const override { return 1; }
  [[nodiscard]] nn::Shape shape() const override { return {2, 1, 2}; }
  [[nodiscard]] std::uint32_t classes() const override { return 9; }
  void read(std::uint64_t, float* into, std::uint32_t* labels) const override {
    for (int i = 0; i < 4; ++i) into[i] = static_cast<float>(i + 1);
    labels[0] = 8;
  }
};

TEST(PaddedDataSet, PutsThePictureIntoTheMiddle) {
  const PaddedDataSet padded(std::make_shared<Small>(), 3, 3, {-1, -2});
  EXPECT_EQ(padded.shape(), (nn::Shape{3, 3, 2}));
  const Sample sample = sample_of(padded, 0);
  EXPECT_THAT(sample.values, ElementsAre(-1, -2, 1, 2, -1, -2, -1, -2, 3, 4, -1, -2, -1, -2, -1, -2, -1, -2));
  EXPECT_THAT(sample.labels, ElementsAre(8));
  EXPECT_THAT(sample_of(PaddedDataSet(std::make_shared<Small>(), 2, 1, {}), 0).values,
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(sample_of(PaddedDataSet(std::make_shared<Small>(), 2, 2, {}), 0).values,
              ElementsAre(1, 2, 0, 0, 3, 4, 0, 0));
}

TEST(PaddedDataSet, RefusesATooSmallSize) {
  EXPECT_THAT(
      complaint_of([] { PaddedDataSet(std::make_shared<Small>(), 1, 1, {}); }, ExitCode::configuration),
      HasSubstr("pad = 1: the pictures are 2 x 1 already"));
}

}  // namespace
}  // namespace steelyard::padded_test
