// A directory for sockets that only this user can enter; gone when the run is over.
//
// A process that is killed cannot tidy up, so the next run does: the owner holds a lock on its directory,
// which ends with the process, and a directory of this name without a lock is abandoned. Only sockets are
// ever removed, and the directory if nothing else is in it.
#pragma once

#include <string>

namespace steelyard {

// Throws Failure (configuration) for a directory that is none, or whose path is too long for sockets in it.
void require_room_for_sockets(const std::string& directory);

class SocketDirectory {
 public:
  SocketDirectory();  // where temporary files are; throws Failure if nothing can be made there
  ~SocketDirectory();
  SocketDirectory(const SocketDirectory&) = delete;
  SocketDirectory& operator=(const SocketDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  // open and locked; children do not inherit it
};

}  // namespace steelyard
