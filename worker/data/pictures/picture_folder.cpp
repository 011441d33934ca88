#include "worker/data/pictures/picture_folder.h"

#include <algorithm>
#include <system_error>

#include "core/error.h"
#include "worker/data/pictures/picture.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_folder(const fs::path& folder, const std::string& trouble) {
  throw Failure(ExitCode::io, folder.string() + ": " + trouble);
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// Adds the picture files below `folder`.
void add_files(const fs::path& folder, std::uint32_t number, std::vector<PictureFolder::File>& files) {
  std::error_code trouble;
  constexpr auto how = fs::directory_options::follow_directory_symlink;
  fs::recursive_directory_iterator it(folder, how, trouble);
  for (; !trouble && it != fs::recursive_directory_iterator(); it.increment(trouble)) {
    std::error_code ignored;
    const bool is_folder = it->is_directory(ignored);
    if (is_hidden(it->path())) {
      if (is_folder) it.disable_recursion_pending();
      continue;
    }
    if (is_folder) continue;
    if (const std::string kind = unread_picture_kind(it->path()); !kind.empty()) {
      refuse_picture(it->path().string(), "it is a " + kind + " picture, and only PNG and JPEG are read",
                     "convert it, or move it out of the folder");
    }
    if (has_picture_name(it->path())) files.push_back({it->path().string(), number});
  }
  if (trouble)
    refuse_folder(folder, "it cannot be listed (" + trouble.message() + "): check its permissions and links");
}

}  // namespace

std::string PictureFolder::inner_path(const File& file) const {
  return fs::path(file.path).lexically_relative(root).generic_string();
}

PictureFolder list_pictures(const fs::path& root) {
  PictureFolder all{root, {}, {}};
  std::error_code trouble;
  if (!fs::is_directory(root, trouble))
    refuse_folder(root, "there is no such folder: give one with a subfolder of pictures for each class");
  for (fs::directory_iterator it(root, trouble), end; !trouble && it != end; it.increment(trouble)) {
    std::error_code ignored;
    if (is_hidden(it->path())) continue;
    if (it->is_directory(ignored)) {
      all.folders.push_back(it->path().filename().string());
    } else if (has_picture_name(it->path())) {
      all.files.push_back({it->path().string(), PictureFolder::no_folder});
    }
  }
  if (trouble) refuse_folder(root, "it cannot be listed (" + trouble.message() + "): check its permissions");
  std::ranges::sort(all.folders);
  for (std::uint32_t i = 0; i < all.folders.size(); ++i) add_files(root / all.folders[i], i, all.files);
  std::ranges::sort(all.files, {}, &PictureFolder::File::path);
  return all;
}

PictureFolder list_classes(const fs::path& root, bool empty_allowed) {
  PictureFolder all = list_pictures(root);
  std::vector<bool> used(all.folders.size());
  for (const PictureFolder::File& file : all.files) {
    if (file.folder == PictureFolder::no_folder)
      refuse_folder(file.path, "it lies beside the folders of the classes: move it into one of them");
    used[file.folder] = true;
  }
  if (!empty_allowed && all.folders.size() < 2) {
    refuse_folder(root, (all.folders.empty() ? "it has no subfolders"
                                             : "it has only the subfolder '" + all.folders[0] + "'") +
                            std::string(": give a folder with a subfolder of pictures for each class"));
  }
  const auto empty = std::ranges::find(used, false);
  if (!empty_allowed && empty != used.end()) {
    refuse_folder(root / all.folders[static_cast<std::size_t>(empty - used.begin())],
                  "it has no pictures (*.png, *.jpg, *.jpeg): remove the folder, or add some");
  }
  if (all.files.empty())
    refuse_folder(root, "there are no pictures (*.png, *.jpg, *.jpeg) in its subfolders");
  return all;
}

}  // namespace steelyard
