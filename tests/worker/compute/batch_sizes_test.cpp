#include "worker/compute/batch_sizes.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace steelyard::batch_sizes_test {
namespace {

using testing::ElementsAre;

const std::vector<std::uint32_t> sizes{256, 128, 64, 32, 16, 8, 4, 2, 1};

// Each micro-batch takes `fixed`, and 1 for each sample.
std::vector<double> seconds(double fixed) {
  std::vector<double> all;
  for (const std::uint32_t size : sizes) all.push_back(fixed + size);
  return all;
}

std::vector<std::uint32_t> cut(const BatchSizes& by, std::uint64_t samples) {
  std::vector<std::uint32_t> parts;
  while (samples > 0) {
    parts.push_back(by.size_for(samples));
    samples -= std::min<std::uint64_t>(samples, parts.back());
  }
  return parts;
}

TEST(BatchSizes, TheRestIsPaddedIfNoTimesAreKnown) {
  const BatchSizes by(sizes);
  EXPECT_EQ(by.largest(), 256U);
  EXPECT_THAT(cut(by, 256), ElementsAre(256));
  EXPECT_THAT(cut(by, 257), ElementsAre(256, 1));
  EXPECT_THAT(cut(by, 400), ElementsAre(256, 256));
  EXPECT_THAT(cut(by, 3), ElementsAre(4));
}

TEST(BatchSizes, TheRestIsCutWhereThatIsFaster) {
  EXPECT_THAT(cut(BatchSizes(sizes, seconds(0)), 400), ElementsAre(256, 128, 16));
  EXPECT_THAT(cut(BatchSizes(sizes, seconds(20)), 400), ElementsAre(256, 128, 16))
      << "148 + 36 instead of 276";
  EXPECT_THAT(cut(BatchSizes(sizes, seconds(20)), 400 - 1), ElementsAre(256, 128, 16)) << "one is padding";
  EXPECT_THAT(cut(BatchSizes(sizes, seconds(110)), 400), ElementsAre(256, 256))
      << "238 + 126 gain too little";
}

TEST(BatchSizes, ASizeThatIsFullIsNotCut) {
  for (const std::uint32_t size : sizes)
    EXPECT_THAT(cut(BatchSizes(sizes, seconds(0)), size), ElementsAre(size));
}

// Statistics of batch norm are those of a grain.
TEST(BatchSizes, GrainsAreNotCut) {
  EXPECT_THAT(cut(BatchSizes(sizes, seconds(0), 1), 44), ElementsAre(32, 8, 4));
  EXPECT_THAT(cut(BatchSizes(sizes, seconds(0), 32), 44), ElementsAre(32, 16)) << "12 samples share a grain";
  EXPECT_THAT(cut(BatchSizes(sizes, seconds(0), 24), 100), ElementsAre(128));
}

}  // namespace
}  // namespace steelyard::batch_sizes_test
