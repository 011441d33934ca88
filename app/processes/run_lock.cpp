#include "app/processes/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "core/error.h"

namespace steelyard {
namespace {

// Who signed it last; it may be gone since, while somebody it started goes on.
std::string signature(int file) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  const std::string all(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return all.substr(0, all.find('\n'));
}

// The file, open and locked.
int lock(const std::string& directory) {
  const std::string path = directory + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) {
    throw Failure(ExitCode::io, "run directory " + directory + ": " + path +
                                    " cannot be opened: " + std::generic_category().message(errno) +
                                    ": give --run-dir a place where you may write");
  }
  if (::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return file;
  const std::string who = signature(file);
  ::close(file);
  throw Failure(ExitCode::io, "run directory " + directory + ": process " + (who.empty() ? "?" : who) +
                                  " is training in it: wait until that has ended, end it (kill " + who +
                                  " saves a checkpoint first), or give --run-dir another name");
}

}  // namespace

RunLock::RunLock(const std::string& directory, int inherited)
    : file_(inherited >= 0 ? inherited : lock(directory)) {
  if (::fcntl(file_, F_SETFD, FD_CLOEXEC) != 0) {
    throw Failure(ExitCode::usage, "--run-dir-lock " + std::to_string(inherited) + ": no lock on " +
                                       directory +
                                       " was handed on: leave it out, it is for `steelyard train`");
  }
  const std::string who = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file_, 0) == 0) (void)!::pwrite(file_, who.data(), who.size(), 0);
}

RunLock::~RunLock() { ::close(file_); }

// A line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 708 08:01:2641 0 EOF".
bool in_use(const std::string& directory) {
  struct stat file {};
  if (::stat((directory + "/lock").c_str(), &file) != 0) return false;
  const std::string inode = ":" + std::to_string(file.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("FLOCK") != std::string::npos && line.find(inode) != std::string::npos) return true;
  }
  return false;
}

}  // namespace steelyard
