#include "worker/data/pictures/picture_folder.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"

namespace steelyard::picture_folder_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> paths(const PictureFolder& folder) {
  std::vector<std::string> all;
  for (const PictureFolder::File& file : folder.files) all.push_back(folder.inner_path(file));
  return all;
}

TEST(PictureFolder, SubfoldersAreClasses) {
  const TemporaryFolder folder;
  for (const char* name : {"dog/b.png", "cat/z.JPG", "cat/2024/a.jpeg", "cat/notes.txt", "cat/.hidden.png",
                           ".thumbnails/x.png", "dog/.cache/y.png", "README"})
    folder.write(name, std::string_view("x"));
  const PictureFolder all = list_classes(folder.path());
  EXPECT_THAT(all.folders, ElementsAre("cat", "dog"));
  EXPECT_THAT(paths(all), ElementsAre("cat/2024/a.jpeg", "cat/z.JPG", "dog/b.png"));
  EXPECT_EQ(all.files[2].folder, 1U);
  EXPECT_EQ(all.files[2].path, folder.path("dog/b.png"));
}

TEST(PictureFolder, LinksToFoldersAreFollowed) {
  const TemporaryFolder folder;
  folder.write("all/cat/a.png", std::string_view("x"));
  folder.write("some/dog/b.png", std::string_view("x"));
  std::filesystem::create_directory_symlink(folder.path("all/cat"), folder.path("some/cat"));
  EXPECT_THAT(paths(list_classes(folder.path("some"))), ElementsAre("cat/a.png", "dog/b.png"));
}

TEST(PictureFolder, WhatWouldBeMissingIsRefused) {
  const TemporaryFolder folder;
  const auto refused = [&] { return complaint_of([&] { list_classes(folder.path()); }); };
  EXPECT_THAT(refused(), HasSubstr("it has no subfolders: give a folder with a subfolder of pictures"));
  folder.write("cat/a.png", std::string_view("x"));
  EXPECT_THAT(refused(), HasSubstr("it has only the subfolder 'cat'"));
  folder.write("dog/b.txt", std::string_view("x"));
  EXPECT_THAT(refused(), HasSubstr("dog: it has no pictures (*.png, *.jpg, *.jpeg): remove the folder"));
  EXPECT_EQ(list_classes(folder.path(), true).files.size(), 1U) << "of a test set";
  folder.write("dog/c.webp", std::string_view("x"));
  EXPECT_THAT(refused(),
              HasSubstr("c.webp: it is a WebP picture, and only PNG and JPEG are read: convert it"));
  std::filesystem::remove(folder.path("dog/c.webp"));
  folder.write("d.png", std::string_view("x"));
  EXPECT_THAT(refused(), HasSubstr("d.png: it lies beside the folders of the classes"));
  EXPECT_EQ(list_pictures(folder.path()).files.size(), 2U) << "for predictions";
  EXPECT_THAT(complaint_of([&] { list_pictures(folder.path("absent")); }),
              HasSubstr("there is no such folder"));
}

}  // namespace
}  // namespace steelyard::picture_folder_test
