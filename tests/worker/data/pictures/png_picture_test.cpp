#include "worker/data/pictures/png_picture.h"

#include <gmock/gmock.h>

#include "tests/support/made_pictures.h"
#include "tests/worker/data/data_checks.h"

namespace steelyard::png_picture_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Bytes decoded(const Bytes& file, const PictureFormat& format) {
  Bytes bytes(format.bytes());
  decode_png("cat.png", file, format, bytes.data());
  return bytes;
}

TEST(PngPicture, ColoursAndGreyAreReadExactly) {
  const test::Pixels pixels = test::patterned(6, 5, 1);
  const Bytes file = test::png_of(pixels);
  EXPECT_TRUE(is_png(file));
  EXPECT_EQ(decoded(file, {6, 5, 3}), pixels.bytes);
  EXPECT_THAT(decoded(test::png_of({1, 2, 1, {7, 200}}), {1, 2, 3}), ElementsAre(7, 7, 7, 200, 200, 200));
  EXPECT_THAT(decoded(test::png_of(test::flat(1, 1, {200, 50, 10})), {1, 1, 1}), ElementsAre(90));
}

TEST(PngPicture, SixteenBitsAreRounded) {
  EXPECT_THAT(decoded(test::png_of({1, 2, 1, {0x12, 0x34, 0xFF, 0xFF}}, {.bits = 16}), {1, 2, 1}),
              ElementsAre(0x12, 0xFF));
}

TEST(PngPicture, TransparencyIsShownOnWhite) {
  EXPECT_THAT(decoded(test::png_of({1, 3, 2, {0, 0, 0, 255, 100, 51}}), {1, 3, 1}), ElementsAre(255, 0, 224));
  EXPECT_THAT(decoded(test::png_of({1, 1, 4, {10, 20, 30, 0}}), {1, 1, 3}), ElementsAre(255, 255, 255));
}

TEST(PngPicture, AnInterlacedPictureIsTheSame) {
  const test::Pixels pixels = test::patterned(13, 9, 1);
  EXPECT_EQ(decoded(test::png_of(pixels, {.interlaced = true}), {13, 9, 3}), pixels.bytes);
}

TEST(PngPicture, TheOrientationIsApplied) {
  EXPECT_THAT(decoded(test::png_of({2, 1, 1, {1, 2}}, {.orientation = 6}), {1, 2, 1}), ElementsAre(2, 1));
}

TEST(PngPicture, DamageIsRefused) {
  for (const bool interlaced : {false, true}) {
    Bytes file = test::png_of(test::patterned(40, 40, 1), {.interlaced = interlaced});
    const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() / 2));
    EXPECT_THAT(
        complaint_of([&] {
          decoded(part, {40, 40, 3});
        }),
        AllOf(HasSubstr("cat.png: "), HasSubstr("truncated"), HasSubstr("replace or remove the file")));
    file[18] ^= 1;  // the width
    EXPECT_THAT(complaint_of([&] { decoded(file, {40, 40, 3}); }), HasSubstr("cat.png: "));
  }
}

}  // namespace
}  // namespace steelyard::png_picture_test
