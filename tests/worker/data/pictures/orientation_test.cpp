#include "worker/data/pictures/orientation.h"

#include <gmock/gmock.h>

#include "tests/support/made_pictures.h"

namespace steelyard::orientation_test {
namespace {

TEST(Orientation, IsReadInBothByteOrders) {
  for (unsigned orientation = 1; orientation <= 8; ++orientation) {
    for (const bool little : {false, true})
      EXPECT_EQ(exif_orientation(test::exif_of(orientation, little)), orientation);
  }
}

TEST(Orientation, DamagedDataMeanNone) {
  EXPECT_EQ(exif_orientation({}), 1U);
  EXPECT_EQ(exif_orientation(test::exif_of(0)), 1U);
  EXPECT_EQ(exif_orientation(test::exif_of(9)), 1U);
  std::vector<std::uint8_t> exif = test::exif_of(6);
  for (std::size_t size = 0; size < exif.size() - 6; ++size)
    EXPECT_EQ(exif_orientation(std::span(exif).first(size)), 1U) << size;
  exif[4] = 0xFF;
  exif[7] = 0xFF;
  EXPECT_EQ(exif_orientation(exif), 1U) << "a directory beyond the end";
}

// The picture "abc" over "def", as a camera stores it in each orientation (JEITA CP-3451, figure 6).
TEST(Orientation, EachOneIsTurnedUpright) {
  const char* const stored[]{"abcdef", "cbafed", "fedcba", "defabc", "adbecf", "cfbead", "fcebda", "daebfc"};
  const PictureFormat format{2, 3, 1};
  for (unsigned orientation = 1; orientation <= 8; ++orientation) {
    std::string upright(6, ' ');
    turn(orientation, reinterpret_cast<const std::uint8_t*>(stored[orientation - 1]), format,
         reinterpret_cast<std::uint8_t*>(upright.data()));
    EXPECT_EQ(upright, "abcdef") << orientation;
    EXPECT_EQ(stored_format(orientation, format).rows, orientation < 5 ? 2U : 3U);
  }
}

}  // namespace
}  // namespace steelyard::orientation_test
