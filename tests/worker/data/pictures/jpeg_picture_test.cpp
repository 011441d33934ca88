#include "worker/data/pictures/jpeg_picture.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/made_pictures.h"
#include "tests/worker/data/data_checks.h"

namespace steelyard::jpeg_picture_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

std::vector<int> decoded(const Bytes& file, const PictureFormat& format) {
  Bytes bytes(format.bytes());
  decode_jpeg("cat.jpg", file, format, bytes.data());
  return {bytes.begin(), bytes.end()};
}

// The colour of the first pixel, within the loss of the format.
void expect_near(const std::vector<int>& pixel, const std::vector<int>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(pixel.at(i), wanted[i], 4) << i;
}

TEST(JpegPicture, ColoursAreRead) {
  const Bytes file = test::jpeg_of(test::flat(20, 30, {200, 50, 10}));
  EXPECT_TRUE(is_jpeg(file));
  expect_near(decoded(file, {4, 5, 3}), {200, 50, 10});
  expect_near(decoded(file, {4, 5, 1}), {90});
  expect_near(decoded(test::jpeg_of(test::flat(20, 30, {77})), {4, 5, 3}), {77, 77, 77});
}

TEST(JpegPicture, AProgressivePictureIsTheSame) {
  const test::Pixels pixels = test::patterned(40, 40, 1);
  EXPECT_EQ(decoded(test::jpeg_of(pixels, {.progressive = true}), {16, 16, 3}),
            decoded(test::jpeg_of(pixels), {16, 16, 3}));
}

TEST(JpegPicture, ALargePictureLooksLikeASmallOne) {
  const auto large = decoded(test::jpeg_of(test::patterned(512, 512, 1)), {2, 1, 3});
  const auto small = decoded(test::jpeg_of(test::patterned(16, 16, 1)), {2, 1, 3});
  for (std::size_t i = 0; i < large.size(); ++i) EXPECT_NEAR(large[i], small[i], 30) << i;
  EXPECT_GT(large[0], large[3] + 80) << "red above";
  EXPECT_LT(large[2] + 80, large[5]) << "blue below";
}

TEST(JpegPicture, TheCamerasOrientationIsApplied) {
  const test::Pixels pixels = test::patterned(32, 64, 1);
  EXPECT_EQ(decoded(test::jpeg_of(pixels, {.orientation = 1}), {8, 16, 3}),
            decoded(test::jpeg_of(pixels), {8, 16, 3}));
  const auto turned = decoded(test::jpeg_of(pixels, {.orientation = 6}), {1, 2, 3});
  EXPECT_GT(turned[3], turned[0] + 80) << "what is above is on the right, once it is turned clockwise";
}

TEST(JpegPicture, InksBecomeColours) {
  // As Adobe's programs write them: 255 is no ink.
  expect_near(decoded(test::jpeg_of(test::flat(8, 8, {255, 0, 0, 255})), {2, 2, 3}), {255, 0, 0});
  EXPECT_THAT(decoded(test::jpeg_of(test::flat(8, 8, {255, 255, 255, 0})), {2, 2, 1}), Each(0));
}

TEST(JpegPicture, ATruncatedPictureIsRefused) {
  for (const bool progressive : {false, true}) {
    Bytes file = test::jpeg_of(test::patterned(64, 64, 1), {.progressive = progressive});
    for (const std::size_t size : {file.size() / 2, file.size() / 8, std::size_t{3}}) {
      const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_THAT(complaint_of([&] {
                    decoded(part, {8, 8, 3});
                  }),
                  AllOf(HasSubstr("cat.jpg: the "), HasSubstr("replace or remove the file")));
    }
  }
}

TEST(JpegPicture, AHeaderThatClaimsTooMuchIsRefused) {
  Bytes file = test::jpeg_of(test::flat(8, 8, {1, 2, 3}));
  const Bytes frame{0xFF, 0xC0};
  const auto at = std::ranges::search(file, frame).begin() + 5;
  std::fill_n(at, 4, std::uint8_t{0xFF});
  EXPECT_THAT(complaint_of([&] { decoded(file, {8, 8, 3}); }), HasSubstr("cat.jpg: "));
  std::fill_n(at, 4, std::uint8_t{0x20});
  EXPECT_THAT(complaint_of([&] { decoded(file, {8, 8, 3}); }), HasSubstr("truncated or damaged"));
}

}  // namespace
}  // namespace steelyard::jpeg_picture_test
