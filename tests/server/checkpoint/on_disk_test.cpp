// Which files are synced before a checkpoint gets its name. This program replaces fsync with one that records
// its calls, since a file that was never synced is readable until power is lost.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "server/checkpoint/checkpoint.h"
#include "tests/support/temporary_folder.h"

namespace {

struct Synced {
  ino_t file;
  off_t size;                 // at the time of the call
  std::vector<ino_t> inside;  // if it is a directory: its entries at that time
};
std::vector<Synced> synced;

std::vector<ino_t> files_in(const std::filesystem::path& directory) {
  std::vector<ino_t> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    struct stat about {};
    ::stat(entry.path().c_str(), &about);
    files.push_back(about.st_ino);
  }
  return files;
}

int record(int file) {
  struct stat about {};
  ::fstat(file, &about);
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
  synced.push_back(
      {about.st_ino, about.st_size, S_ISDIR(about.st_mode) ? files_in(path) : std::vector<ino_t>()});
  return static_cast<int>(::syscall(SYS_fsync, file));
}

}  // namespace

// The linker prefers these to the C library's.
extern "C" int fsync(int file) { return record(file); }
extern "C" int fdatasync(int file) { return record(file); }

namespace steelyard::on_disk_test {
namespace {

struct stat about(const std::filesystem::path& path) {
  struct stat it {};
  EXPECT_EQ(::stat(path.c_str(), &it), 0);
  return it;
}

TEST(OnDisk, ACheckpointsFilesDirectoryAndNameAreSynced) {
  const TemporaryFolder folder;
  const std::string checkpoints = folder.path().string() + "/checkpoints";
  Snapshot snapshot;
  append(snapshot.layout, "fc.weight", {3, 2});
  snapshot.layout.slice_size = 16;
  snapshot.parameters.assign(6, 1);
  snapshot.state = {std::vector<float>(6, 2)};
  synced.clear();
  const std::string path = write_checkpoint(checkpoints, snapshot);

  std::vector<ino_t> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const struct stat it = about(entry.path());
    files.push_back(it.st_ino);
    EXPECT_TRUE(std::ranges::any_of(
        synced, [&](const Synced& s) { return s.file == it.st_ino && s.size == it.st_size; }))
        << entry.path().filename() << " was not synced in its final size";
  }
  EXPECT_EQ(files.size(), 3U);
  const auto names_synced = [&](const std::string& directory, ino_t file) {
    const ino_t its = about(directory).st_ino;
    return std::ranges::any_of(synced, [&](const Synced& s) {
      return s.file == its && std::ranges::find(s.inside, file) != s.inside.end();
    });
  };
  for (const ino_t file : files) EXPECT_TRUE(names_synced(path, file)) << "the name of a file";
  EXPECT_TRUE(names_synced(checkpoints, about(path).st_ino)) << "the name of the checkpoint";
}

}  // namespace
}  // namespace steelyard::on_disk_test
