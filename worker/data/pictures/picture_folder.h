// PictureFolder: the pictures in a folder with one subfolder for each class, as torchvision's ImageFolder
// reads it:
//
//  pets/cat/tom.jpg
//  pets/cat/2024/ginger.png
//  pets/dog/rex.jpeg
//
// Files with other names than *.png, *.jpg and *.jpeg are ignored, and so are all names that begin with '.';
// but a picture of a kind that is not read, such as WebP, is refused, because it would be missing silently.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace steelyard {

struct PictureFolder {
  static constexpr std::uint32_t no_folder = UINT32_MAX;
  struct File {
    std::string path;      // "pets/cat/tom.jpg"
    std::uint32_t folder;  // index in `folders`; no_folder: it lies beside them
  };
  std::filesystem::path root{};
  std::vector<std::string> folders{};  // "cat": sorted by name, also those without pictures
  std::vector<File> files{};           // sorted by path
  // The path below the root, the same on every machine: "cat/tom.jpg".
  [[nodiscard]] std::string inner_path(const File& file) const;
};

// Links to folders are followed. Throws Failure (io) if a folder cannot be listed, or for a kind of picture
// that is not read.
PictureFolder list_pictures(const std::filesystem::path& root);

// The same, for training: throws Failure (io) also if there are fewer than two folders, if a folder has no
// picture, or if a picture lies beside the folders. `empty_allowed`: of a test set, a folder may be empty.
PictureFolder list_classes(const std::filesystem::path& root, bool empty_allowed = false);

}  // namespace steelyard
