#include "app/launch/socket_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = "steelyard-sockets-";
constexpr std::size_t longest_socket =
    std::string_view("server-1023.127").size();  // the last thread of 1,024 servers
// "/", the six letters that mkdtemp() appends to the prefix, "/", and the name of a socket.
constexpr std::size_t behind_the_prefix = 1 + 6 + 1 + longest_socket;
constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

int open_directory(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void remove_sockets(const std::string& path) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    std::error_code gone;
    if (entry.is_socket(gone)) ::unlink(entry.path().c_str());
    if (entry.is_directory(gone) && !entry.is_symlink(gone)) remove_sockets(entry.path());  // of further jobs
  }
  ::rmdir(path.c_str());
}

// Whether we created it: it belongs to this user, and has no permissions for others.
bool is_made_by_us(int directory) {
  struct stat it {};
  return ::fstat(directory, &it) == 0 && it.st_uid == ::geteuid() && (it.st_mode & 077) == 0;
}

// Removes the directories of killed runs.
void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const int lock = open_directory(entry.path());
    if (lock < 0) continue;
    if (is_made_by_us(lock) && ::flock(lock, LOCK_EX | LOCK_NB) == 0) remove_sockets(entry.path());
    ::close(lock);
  }
}

}  // namespace

void require_room_for_sockets(const std::string& directory) {
  const std::size_t letters = directory.size() + 1 + longest_socket;
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) {
    refuse_setup("there is no directory " + directory + " for sockets: create it first");
  }
  if (letters <= longest_path) return;
  refuse_setup("the directory " + directory + " is " + std::to_string(letters - longest_path) +
               " letters too long for sockets in it: use a shorter path");
}

SocketDirectory::SocketDirectory() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  const std::size_t letters = parent.string().size() + std::string_view(prefix).size() + behind_the_prefix;
  if (!error && letters > longest_path) {
    refuse_setup("the directory for temporary files, " + parent.string() + ", is " +
                 std::to_string(letters - longest_path) +
                 " letters too long for sockets in it: set TMPDIR to a shorter one, such as /tmp");
  }
  if (!error) remove_abandoned(parent);
  while (lock_ < 0) {
    path_ = (parent / (prefix + std::string("XXXXXX"))).string();
    if (error || ::mkdtemp(path_.data()) == nullptr) {
      throw Failure(ExitCode::io, "cannot make a directory for sockets at " + path_ +
                                      ": set TMPDIR to one that is writable");
    }
    // A run that starts at the same time may have removed it as abandoned before we locked it; then try
    // again. On a file system without locks nothing is ever removed.
    lock_ = open_directory(path_);
    if (lock_ >= 0) ::flock(lock_, LOCK_EX);
    if (fs::exists(path_, error)) return;
    ::close(std::exchange(lock_, -1));
  }
}

SocketDirectory::~SocketDirectory() {
  remove_sockets(path_);
  ::close(lock_);
}

}  // namespace steelyard
