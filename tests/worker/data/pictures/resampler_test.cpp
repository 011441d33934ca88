#include "worker/data/pictures/resampler.h"

#include <gmock/gmock.h>

#include "core/random.h"
#include "tests/support/made_pictures.h"

namespace steelyard::resampler_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<std::uint8_t> resampled(const test::Pixels& from, std::uint32_t rows, std::uint32_t columns) {
  const PictureFormat format{rows, columns, from.channels};
  Resampler resampler(from.height, from.width, format);
  for (std::uint32_t y = resampler.first_row(); y < resampler.end_row(); ++y)
    resampler.add(y, from.bytes.data() + std::size_t{y} * from.width * from.channels);
  std::vector<std::uint8_t> bytes(format.bytes());
  resampler.finish(bytes.data());
  return bytes;
}

TEST(Resampler, TheSameSizeKeepsEveryByte) {
  const test::Pixels pixels = test::patterned(7, 11, 3);
  EXPECT_EQ(resampled(pixels, 7, 11), pixels.bytes);
}

TEST(Resampler, ASmallerPictureHasTheMeansOfItsAreas) {
  EXPECT_THAT(resampled({2, 4, 1, {0, 100, 10, 20, 50, 50, 30, 40}}, 1, 2), ElementsAre(50, 25));
  EXPECT_THAT(resampled({1, 3, 1, {0, 90, 180}}, 1, 3), ElementsAre(0, 90, 180));
  EXPECT_THAT(resampled({3, 3, 1, {0, 90, 180, 0, 90, 180, 0, 90, 180}}, 2, 2), ElementsAre(30, 150, 30, 150))
      << "one pixel and a half each";
}

TEST(Resampler, ALargerPictureIsInterpolated) {
  EXPECT_THAT(resampled({1, 2, 1, {0, 100}}, 1, 4), ElementsAre(0, 25, 75, 100));
}

TEST(Resampler, TheMiddleIsTaken) {
  EXPECT_THAT(resampled({1, 4, 1, {1, 2, 3, 4}}, 1, 2), ElementsAre(2, 3));
  const Resampler high(4, 1, {2, 1, 1});
  EXPECT_EQ(high.first_row(), 1U);
  EXPECT_EQ(high.end_row(), 3U);
}

TEST(Resampler, AFlatPictureStaysFlatAtAnySize) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const auto side = [&] { return static_cast<std::uint32_t>(1 + random.below(i % 10 == 0 ? 3000 : 60)); };
    const auto value = static_cast<std::uint8_t>(random.below(256));
    const test::Pixels pixels = test::flat(side() % 400 + 1, side(), {value});
    EXPECT_THAT(resampled(pixels, side() % 100 + 1, side() % 100 + 1), Each(value));
  }
}

// Another release must decode the same samples.
TEST(Resampler, BytesNeverChange) {
  std::uint64_t key = 0;
  Random random(9);
  for (int i = 0; i < 300; ++i) {
    const auto side = [&](std::uint64_t most) { return static_cast<std::uint32_t>(1 + random.below(most)); };
    test::Pixels pixels;
    pixels.height = side(60);
    pixels.width = side(i % 10 == 0 ? 900 : 60);
    pixels.channels = i % 2 == 0 ? 3 : 1;
    pixels.bytes.resize(std::size_t{pixels.height} * pixels.width * pixels.channels);
    for (std::uint8_t& byte : pixels.bytes) byte = static_cast<std::uint8_t>(random.below(256));
    const std::uint32_t rows = side(50), columns = side(50);
    for (const std::uint8_t byte : resampled(pixels, rows, columns)) key = mix(key ^ byte);
  }
  EXPECT_EQ(key, 17253751434453005054U);
}

}  // namespace
}  // namespace steelyard::resampler_test
