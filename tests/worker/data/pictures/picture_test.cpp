#include "worker/data/pictures/picture.h"

#include <gmock/gmock.h>

#include "tests/support/made_pictures.h"
#include "tests/worker/data/data_checks.h"

namespace steelyard::picture_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Picture, TheContentDecidesNotTheName) {
  const TemporaryFolder folder;
  const std::string file = folder.write("tom.jpg", test::png_of(test::flat(2, 2, {9, 8, 7})));
  EXPECT_TRUE(is_picture(file));
  Bytes bytes(3);
  read_picture(file, {1, 1, 3}, bytes.data());
  EXPECT_EQ(bytes, (Bytes{9, 8, 7}));
}

TEST(Picture, OtherFilesAreRefusedByTheirKind) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& content) {
    const std::string file = folder.write("tom.png", content);
    EXPECT_FALSE(is_picture(file));
    Bytes bytes(3);
    return complaint_of([&] { read_picture(file, {1, 1, 3}, bytes.data()); });
  };
  EXPECT_THAT(refused(""), AllOf(HasSubstr("tom.png: the file is empty: replace or remove the file")));
  EXPECT_THAT(refused("hello"), HasSubstr("it is neither a PNG nor a JPEG picture: convert it"));
  EXPECT_THAT(refused("RIFF1234WEBPVP8 "), HasSubstr("it is a WebP picture, and only PNG and JPEG are read"));
  EXPECT_THAT(refused("GIF89a"), HasSubstr("it is a GIF picture"));
  Bytes bytes(3);
  EXPECT_THAT(complaint_of([&] {
                read_picture(folder.path("absent"), {1, 1, 3}, bytes.data());
              }),
              HasSubstr("absent: does not exist, or is not a file"));
}

TEST(Picture, NamesTellKinds) {
  EXPECT_TRUE(has_picture_name("a/TOM.JPG"));
  EXPECT_TRUE(has_picture_name("tom.jpeg"));
  EXPECT_FALSE(has_picture_name("png"));
  EXPECT_EQ(unread_picture_kind("tom.TIF"), "TIFF");
  EXPECT_EQ(unread_picture_kind("tom.txt"), "");
}

TEST(Picture, ASizeHasALimit) {
  require_size("a", 11'000, 12'000);
  EXPECT_THAT(complaint_of([] { require_size("a.png", 60'000, 60'000); }),
              HasSubstr("a.png: it has 60000 x 60000 pixels, and at most"));
  EXPECT_THAT(complaint_of([] { require_size("a.png", 70'000, 1); }), HasSubstr("make the picture smaller"));
}

}  // namespace
}  // namespace steelyard::picture_test
